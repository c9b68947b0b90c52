package worker

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// progress is the latest heartbeat of a guest. Total 0: unknown.
type progress struct {
	done, total int64
	note        string
}

// maxNote bounds a progress note in bytes: it is stored with every changed beat.
const maxNote = 4 << 10

// payload returns p as {"done","total","note"}. It leaves out an unknown total; a note that is JSON stays JSON.
func (p progress) payload() *task.Payload {
	doc := struct {
		Done  int64           `json:"done"`
		Total int64           `json:"total,omitempty"`
		Note  json.RawMessage `json:"note,omitempty"`
	}{Done: p.done, Total: p.total}
	note := p.note
	if len(note) > maxNote {
		note = note[:maxNote]
	}
	if note != "" {
		if raw := []byte(note); isJSON(raw) {
			doc.Note = raw
		} else {
			doc.Note, _ = json.Marshal(strings.ToValidUTF8(note, "\uFFFD")) // a string always marshals
		}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // integers and valid JSON always marshal
	}
	return &task.Payload{Encoding: task.JSON, Data: b}
}

// takeProgress returns the progress if it has changed since the last call, or nil.
func (r *run) takeProgress() *task.Payload {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.changed {
		return nil
	}
	r.changed = false
	return r.progress.payload()
}

// parting returns the progress that a last report carries, so that an ended run shows how far it had come. This is progress that was not queued yet,
// or whose report has no answer: the last report takes the place of that report. s.mu is held.
func (r *run) parting() *task.Payload {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.changed && !r.beating {
		return nil
	}
	return r.progress.payload()
}

// liveEvery is the shortest time between two messages to watchers about the progress of a running guest (SPEC W3).
const liveEvery = 250 * time.Millisecond

// nudgeLive makes the sender look for progress to tell.
func (s *session) nudgeLive() {
	select {
	case s.live <- struct{}{}:
	default:
	}
}

// sendLive tells the progress that changed since sendLive last told it; told is false if there was none. This progress is not stored and not
// answered. If it is lost, the next progress makes up for it.
func (s *session) sendLive(conn *stream.Conn) (told bool, err error) {
	if !s.alive() {
		return false, context.Cause(s.ctx)
	}
	var ps []stream.Progress
	s.mu.Lock()
	for _, token := range s.executingLocked() {
		r := s.runs[token]
		r.mu.Lock()
		if r.untold {
			r.untold = false
			ps = append(ps, stream.Progress{Key: r.key, Token: r.token, Progress: *r.progress.payload()})
		}
		r.mu.Unlock()
	}
	s.mu.Unlock()
	if len(ps) == 0 {
		return false, nil
	}
	return true, conn.Send(stream.Frame{Progress: ps})
}

// queueProgress queues the progress of every run whose progress changed: once per renewal, so that heartbeats cost the
// cluster nothing in between (SPEC L2, W3).
func (s *session) queueProgress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range s.heldLocked() {
		r := s.runs[token]
		if r.phase != executing || r.beating || r.halted {
			continue
		}
		p := r.takeProgress()
		if p == nil {
			continue
		}
		r.seq++
		r.beating = true
		s.addLocked(r, progressBeat, stream.Report{
			Beat: &task.Beat{Key: r.key, Token: r.token, Seq: r.seq, Progress: p},
		})
	}
}

// payload returns data as JSON if it is JSON, or as bytes.
func payload(data []byte) task.Payload {
	if isJSON(data) {
		return task.Payload{Encoding: task.JSON, Data: data}
	}
	return task.Payload{Encoding: task.Bytes, Data: data}
}

// isJSON reports whether b is JSON. json.Valid alone takes strings that are not UTF-8, which no JSON text may hold (RFC
// 8259, 8.1).
func isJSON(b []byte) bool { return utf8.Valid(b) && json.Valid(b) }

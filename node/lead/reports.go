package lead

import (
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// reportPump proposes a worker's reports in batches. Reports of one token keep their order. Those of different tokens
// may travel side by side, in a bounded number of proposals.
type reportPump struct {
	term   *term
	who    speaker
	send   func(stream.Frame)
	refuse func(breach error) // ends the stream

	mu      sync.Mutex
	idle    *sync.Cond
	pending []stream.Report
	busy    map[uint64]bool // tokens with a report under way
	flying  int             // proposals under way
}

const (
	maxReportBatch   = 1024
	maxReportsFlying = 4
	maxFamilies      = 64      // finishes with children that are checked at the same time
	maxReports       = 1 << 17 // unanswered reports of one worker; a well-behaved worker comes nowhere near
)

func newReportPump(t *term, who speaker, send func(stream.Frame), refuse func(error)) *reportPump {
	p := &reportPump{term: t, who: who, send: send, refuse: refuse, busy: map[uint64]bool{}}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// add queues reports. It returns false if there are too many.
func (p *reportPump) add(rs []stream.Report) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending)+len(rs) > maxReports {
		return false
	}
	p.pending = append(p.pending, rs...)
	p.startLocked()
	return true
}

// wait waits until all reports are answered, or the term ends.
func (p *reportPump) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) > 0 || p.flying > 0 {
		p.idle.Wait()
	}
}

// startLocked starts proposals while there are reports whose tokens have none under way, up to maxReportsFlying.
func (p *reportPump) startLocked() {
	for p.flying < maxReportsFlying {
		batch := p.takeLocked()
		if len(batch) == 0 {
			return
		}
		p.flying++
		p.term.hub.wg.Go(func() {
			if err := p.who.mayReport(p.term.hub.cfg.Store, batch); err != nil {
				p.refuse(err)
			} else {
				p.term.shed(batch)
				p.send(stream.Frame{Acks: p.propose(batch)})
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, r := range batch {
				delete(p.busy, token(r))
			}
			p.flying--
			p.startLocked()
			p.idle.Broadcast()
		})
	}
}

// takeLocked takes the reports that may go now. Several reports of one token may travel in one batch, which keeps their
// order. A report stays if a proposal with its token is under way, or if an earlier report of its token stays. Finishes
// with children take longer to check, so they have batches of their own.
func (p *reportPump) takeLocked() []stream.Report {
	var batch, rest []stream.Report
	var stays map[uint64]bool // tokens with a report that waits for a batch of the other kind
	for _, r := range p.pending {
		most := maxReportBatch
		if isFamily(r) {
			most = maxFamilies
		}
		other := len(batch) > 0 && isFamily(batch[0]) != isFamily(r)
		if other || len(batch) >= most || p.busy[token(r)] || stays[token(r)] {
			rest = append(rest, r)
			if other {
				if stays == nil {
					stays = map[uint64]bool{}
				}
				stays[token(r)] = true
			}
			continue
		}
		batch = append(batch, r)
	}
	for _, r := range batch {
		p.busy[token(r)] = true
	}
	p.pending = rest
	return batch
}

// propose proposes a batch, and makes the acks of its reports.
func (p *reportPump) propose(batch []stream.Report) []stream.Ack {
	acks := make([]stream.Ack, len(batch))
	if isFamily(batch[0]) {
		var wg sync.WaitGroup
		for i := range batch {
			wg.Go(func() { acks[i] = p.proposeFamily(&batch[i]) })
		}
		wg.Wait()
		return acks
	}
	cmds := make([]task.Command, 0, len(batch))
	var at []int
	for i, r := range batch {
		acks[i].ID = r.ID
		switch cmd := command(r); {
		case cmd == nil:
			acks[i].Code, acks[i].Message = task.InvalidCommand, "an empty report"
		case !sound(r):
			acks[i].Code, acks[i].Message = task.InvalidCommand, "a payload is not what it says"
		default:
			cmds, at = append(cmds, cmd), append(at, i)
		}
	}
	if len(cmds) == 0 {
		return acks
	}
	rs, err := p.term.decide(cmds...)
	for j, i := range at {
		switch {
		case err == nil:
			acks[i].Code, acks[i].Message, acks[i].Repeated = rs[j].Code, rs[j].Message, rs[j].Repeated
		case tooLarge(err) && len(cmds) == 1:
			acks[i].Code, acks[i].Message = task.InvalidCommand, err.Error()
		case tooLarge(err):
			acks[i] = p.propose(batch[i : i+1])[0]
		default:
			acks[i].Retry = true
		}
	}
	return acks
}

// shed clears the fields of reports that the cluster's feature level does not know yet. A worker's build may know them before all members do (SPEC C9, U1).
func (t *term) shed(batch []stream.Report) {
	var pages []*int64
	for i := range batch {
		switch r := &batch[i]; {
		case r.Finish != nil && r.Finish.Pages != 0:
			pages = append(pages, &r.Finish.Pages)
		case r.Snooze != nil && r.Snooze.Pages != 0:
			pages = append(pages, &r.Snooze.Pages)
		case r.GiveBack != nil && r.GiveBack.Pages != 0:
			pages = append(pages, &r.GiveBack.Pages)
		}
	}
	if pages == nil {
		return
	}
	level := task.FirstLevel
	t.hub.cfg.Store.Local(func(m *task.Machine) { level = m.Level() })
	if level >= task.MemoryLevel {
		return
	}
	for _, p := range pages {
		*p = 0
	}
}

// isFamily reports whether a report is a finish with children.
func isFamily(r stream.Report) bool { return len(r.Children) > 0 }

func token(r stream.Report) uint64 {
	_, token := r.Subject()
	return token
}

func command(r stream.Report) task.Command {
	switch {
	case r.Finish != nil:
		return *r.Finish
	case r.Beat != nil:
		return *r.Beat
	case r.Snooze != nil:
		return *r.Snooze
	case r.GiveBack != nil:
		return *r.GiveBack
	}
	return nil
}

// sound reports whether all payloads of a report are what they say they are. A worker that is not ours may send a wrong payload. Every answer of the
// API that shows it would be unreadable.
func sound(r stream.Report) bool {
	ok := true
	check := func(ps ...*task.Payload) {
		for _, p := range ps {
			ok = ok && soundPayload(p)
		}
	}
	switch {
	case r.Finish != nil:
		check(&r.Finish.Result, r.Finish.Progress)
		if r.Finish.Error != nil {
			check(&r.Finish.Error.Details)
		}
	case r.Beat != nil:
		check(r.Beat.Progress, r.Beat.Checkpoint)
	case r.Snooze != nil:
		check(r.Snooze.Checkpoint, r.Snooze.Progress)
	}
	return ok
}

func soundPayload(p *task.Payload) bool {
	switch {
	case p == nil, p.Encoding == task.Bytes, p.Encoding == task.None && len(p.Data) == 0:
		return true
	case p.Blobs != nil && p.Blobs.Content != "": // shown as a reference
		return true
	}
	// JSON that api finds valid is sound. JSON that nests deeper than api accepts may be sound, too.
	return p.Encoding == task.JSON && (api.ValidJSON(p.Data) || utf8.Valid(p.Data) && json.Valid(p.Data))
}

package worker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// outbox keeps the reports of a session until they are answered. A broken stream loses nothing: reports without an answer
// are sent again on the next stream, and the token and seq of a report make its second arrival harmless (SPEC L3).
// Guarded by session.mu.
type outbox struct {
	next       uint64            // ID of the last report
	unanswered map[uint64]*entry // by ID
	unsent     []*entry          // on the present connection, by rising ID; some may have been dropped since
}

// entry is one report that waits for its answer.
type entry struct {
	rep  stream.Report
	run  *run
	kind reportKind
	gone bool // answered, or no longer wanted
	held bool // nothing was decided; sent again a little later
	// answered, if set, gets the answer: a guest waits for it. Capacity 1.
	answered chan stream.Ack
	next     *entry // the report of the same run before this one
}

// reportKind says what may happen to a report that nobody has answered.
type reportKind uint8

const (
	progressBeat   reportKind = iota // superseded by any later report of its token
	checkpointBeat                   // a guest waits for it
	lastReport                       // ends the attempt
	lastResort                       // says that the last report was refused
)

// retryDelay is how long a report waits if the leader could not decide about it, for example because a commit was lost.
const retryDelay = 100 * time.Millisecond

// addLocked queues a report of r. The caller nudges.
func (s *session) addLocked(r *run, kind reportKind, rep stream.Report) *entry {
	s.out.next++
	rep.ID = s.out.next
	e := &entry{rep: rep, run: r, kind: kind, next: r.reports}
	if kind == checkpointBeat {
		e.answered = make(chan stream.Ack, 1)
	}
	if s.out.unanswered == nil {
		s.out.unanswered = map[uint64]*entry{}
	}
	r.reports = e
	s.out.unanswered[rep.ID] = e
	s.out.unsent = append(s.out.unsent, e)
	return e
}

// takeLocked returns the reports that are to be sent now. Reports of one token keep their order: if one is held, the later ones
// wait behind it.
func (s *session) takeLocked() []stream.Report {
	if len(s.out.unsent) == 0 {
		return nil
	}
	reps := make([]stream.Report, 0, len(s.out.unsent))
	var held map[*run]bool
	stay := s.out.unsent[:0]
	for _, e := range s.out.unsent {
		switch {
		case e.gone:
		case e.held || held[e.run]:
			if held == nil {
				held = map[*run]bool{}
			}
			held[e.run] = true
			stay = append(stay, e)
		default:
			reps = append(reps, e.rep)
		}
	}
	clear(s.out.unsent[len(stay):])
	s.out.unsent = stay
	return reps
}

// reconnectedLocked marks everything unanswered for sending on the new connection.
func (s *session) reconnectedLocked() {
	s.out.unsent = slices.SortedFunc(maps.Values(s.out.unanswered), func(a, b *entry) int { return cmp.Compare(a.rep.ID, b.rep.ID) })
	for _, e := range s.out.unsent {
		e.held = false
	}
	for _, q := range s.asks {
		q.sent = false
	}
	clear(s.renewals) // their answers went to the old connection
}

// dropLocked forgets all reports of r.
func (s *session) dropLocked(r *run) {
	for e := r.reports; e != nil; e = e.next {
		e.gone = true
		delete(s.out.unanswered, e.rep.ID)
	}
	r.reports = nil
}

// removeLocked forgets one report.
func (s *session) removeLocked(e *entry) {
	e.gone = true
	delete(s.out.unanswered, e.rep.ID)
	for at := &e.run.reports; *at != nil; at = &(*at).next {
		if *at == e {
			*at = e.next
			return
		}
	}
}

// ack handles the answer to a report.
func (s *session) ack(a stream.Ack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.out.unanswered[a.ID]
	if e == nil {
		return // answered before, or no longer wanted
	}
	if a.Retry {
		s.retryLocked(e)
		return
	}
	s.removeLocked(e)
	if a.Code == task.Halt || a.Code == task.TaskNotFound {
		s.haltLocked(e.run) // before the answer: the guest may ask for its signals as soon as it has the answer
		if e.answered != nil {
			e.answered <- a
		}
		return
	}
	if a.Code != task.OK {
		s.w.log.Warn("report refused", "task", e.run.key, "token", e.run.token, "code", a.Code, "message", a.Message)
	}
	switch e.kind {
	case progressBeat:
		e.run.beating = false
	case checkpointBeat:
		e.answered <- a
	case lastReport:
		switch {
		case a.Code == task.OK:
			s.forgetLocked(e.run)
		case !s.restoreLocked(e, a.Code):
			s.lastResortLocked(e.run, a)
		}
	case lastResort:
		s.forgetLocked(e.run) // a renewal no longer names the token: the leader takes the lease back
	}
}

// retryLocked sends a report again after a while. It drops progress that a later report makes pointless.
func (s *session) retryLocked(e *entry) {
	if e.kind == progressBeat && e.rep.Beat.Seq < e.run.seq {
		e.run.beating = false
		s.removeLocked(e)
		return
	}
	e.held = true
	s.unsendLocked(e)
	time.AfterFunc(retryDelay, func() {
		s.mu.Lock()
		e.held = false
		s.mu.Unlock()
		s.nudge()
	})
}

// unsendLocked queues a report that was sent, in its place.
func (s *session) unsendLocked(e *entry) {
	i, in := slices.BinarySearchFunc(s.out.unsent, e.rep.ID, func(e *entry, id uint64) int { return cmp.Compare(e.rep.ID, id) })
	if !in {
		s.out.unsent = slices.Insert(s.out.unsent, i, e)
	}
}

// lastResortLocked ends an attempt whose outcome the cluster refuses, with a failure that says so. Otherwise the task would hang until its run
// timeout.
func (s *session) lastResortLocked(r *run, a stream.Ack) {
	r.seq++
	e := &task.Error{Code: task.CodeHandlerError, Message: "the outcome was refused: " + string(a.Code) + " " + a.Message}
	if a.Code == stream.ChildRefused {
		e = &task.Error{Code: task.CodeChildRefused, Message: clipped(a.Message), Retryable: true} // a later try may be able to submit the child
	}
	s.addLocked(r, lastResort, stream.Report{Finish: &task.Finish{Key: r.key, Token: r.token, Seq: r.seq, Fuel: r.fuel, Pages: r.pages, Error: e, Progress: r.last}})
	s.nudge()
}

// forgetLocked is the end of a run: nothing of it is left to do or to say.
func (s *session) forgetLocked(r *run) {
	s.dropLocked(r)
	delete(s.runs, r.token)
	s.finished.Add(r.token)
	s.announceLocked()
}

// haltLocked ends a run whose token is dead (SPEC L3). It stops the guest at once, and nothing more is reported.
func (s *session) haltLocked(r *run) {
	if r.halted {
		return
	}
	r.halted = true
	r.stop(errHalted)
	if r.phase == reporting {
		s.forgetLocked(r)
		return
	}
	s.dropLocked(r)
}

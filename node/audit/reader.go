package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// Log is how the records of the state are read. service.Log implements it.
type Log interface {
	// Read runs a function on a state that has whatever was acknowledged before, and again as long as it wants more.
	Read(context.Context, func(*task.Machine) (more bool)) error
	Local(func(*task.Machine))
}

// Gate is what a Reader must know of tokens. access.Gate implements it.
type Gate interface {
	Still(*auth.Principal) error
	Long(context.Context, *auth.Principal) (long context.Context, end func(), err error)
}

// Reader shows the records of the state. Every method asks who calls, and refuses nobody's calls.
type Reader struct {
	log  Log
	gate Gate

	mu   sync.Mutex
	news chan struct{} // closed at the next record
}

var _ auth.Audit = (*Reader)(nil)

// NewReader makes a Reader. Wake must be called after every task.AuditNoted.
func NewReader(l Log, g Gate) *Reader { return &Reader{log: l, gate: g, news: make(chan struct{})} }

// Wake tells the followers that there may be more.
func (r *Reader) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.news)
	r.news = make(chan struct{})
}

func (r *Reader) changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news
}

// lookedAt is how many records one look at the state passes over.
const lookedAt = 2_000

// Audit implements auth.Audit.
func (r *Reader) Audit(ctx context.Context, q auth.AuditRequest) (*auth.AuditReply, error) {
	p, err := auth.AdminEverywhere.Caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	reply := &auth.AuditReply{Records: []auth.AuditRecord{}}
	after := q.After
	err = r.log.Read(ctx, func(m *task.Machine) (more bool) {
		reply.LostRefusals = m.Audit().Lost()
		reply.Records, after, more = look(m.Audit(), &q, after, q.Limit+1, reply.Records)
		return more
	})
	if err == nil {
		err = r.gate.Still(p) // the token may have been revoked before the read (SPEC A4)
	}
	if err != nil {
		return nil, err
	}
	if len(reply.Records) > q.Limit {
		reply.Records = reply.Records[:q.Limit]
		reply.Cursor = auth.AuditCursor(reply.Records[q.Limit-1].Number)
	}
	return reply, nil
}

// look appends the records behind a number that a request asks for, until there are so many. It returns the number up to which it has looked, and
// whether there are more that it could look at.
func look(v audit.View, q *auth.AuditRequest, after uint64, most int, found []auth.AuditRecord) (_ []auth.AuditRecord, last uint64, more bool) {
	rows := 0
	for x := range v.After(after) {
		if len(found) >= most {
			return found, after, false
		}
		if rows++; rows > lookedAt {
			return found, after, true
		}
		after = x.Number
		if shown := show(&x); q.Fits(&shown) {
			found = append(found, shown)
		}
	}
	return found, after, false
}

// show is a record as the API shows it.
func show(x *audit.Record) auth.AuditRecord {
	token := x.Name
	if token == "" && x.Token != 0 {
		token = fmt.Sprintf("token:%d", x.Token)
	}
	return auth.AuditRecord{
		Number: x.Number, Index: x.Index, At: api.TimeOf(x.At), Token: token, From: x.From, Route: x.Route, Target: x.Target, Code: x.Code, Requests: x.Count,
	}
}

// FollowAudit implements auth.Audit.
func (r *Reader) FollowAudit(ctx context.Context, q auth.AuditRequest) (api.EventStream, error) {
	p, err := auth.AdminEverywhere.Caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	long, end, err := r.gate.Long(context.WithoutCancel(ctx), p)
	if err != nil {
		return nil, err
	}
	s := &stream{reader: r, request: q, after: q.After, long: long, end: end}
	err = r.log.Read(ctx, func(m *task.Machine) bool {
		if !q.HasAfter && q.Cursor == "" {
			s.after = m.Audit().Last()
		}
		return false
	})
	if err != nil {
		end()
		return nil, err
	}
	return s, nil
}

// stream hands out records as they come into this node's state.
type stream struct {
	reader  *Reader
	request auth.AuditRequest
	after   uint64 // the number up to which it has looked
	ready   []auth.AuditRecord
	told    uint64 // of the last record that was handed out
	long    context.Context
	end     func()
}

// ahead is how many records a stream takes at a time.
const ahead = 64

// Next implements api.EventStream. It ends with the caller's token (SPEC A4).
func (s *stream) Next(ctx context.Context) (api.Event, error) {
	for {
		if err := context.Cause(s.long); err != nil {
			return api.Event{}, err
		}
		if e, ok := s.Try(); ok {
			return e, nil
		}
		changed, more := s.reader.changed(), false // before the look: nothing that comes after it is missed
		s.reader.log.Local(func(m *task.Machine) { s.ready, s.after, more = look(m.Audit(), &s.request, s.after, ahead, s.ready) })
		if more || len(s.ready) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-s.long.Done():
		case <-ctx.Done():
			return api.Event{}, ctx.Err()
		}
	}
}

// Try returns the next record if it is there.
func (s *stream) Try() (api.Event, bool) {
	if len(s.ready) == 0 {
		return api.Event{}, false
	}
	x := s.ready[0]
	s.ready = s.ready[1:]
	data, err := json.Marshal(x)
	if err != nil {
		panic(fmt.Sprintf("audit: a record is no JSON: %v", err)) // texts and numbers always are
	}
	s.told = x.Number
	return api.Event{Kind: auth.AuditEvent, Rev: x.Number, Data: data}, true
}

// Position implements api.EventStream.
func (s *stream) Position() uint64 {
	if len(s.ready) > 0 {
		return s.told
	}
	return s.after
}

// Close implements api.EventStream.
func (s *stream) Close() { s.end() }

package raftstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Propose replicates commands from any node and returns one result per command, in order. Each command is applied
// exactly once, whatever is resent on the way (SPEC H4). The commands of one call may end up in different log entries,
// and among those of other callers. They are applied in the order given, except those that have to be sent again. A
// call is not a transaction.
//
// Errors: ErrNoLeader, ErrOverloaded, ErrTooLarge, ErrLevel and ErrClosed: nothing was proposed. ErrOutcomeUnknown:
// commands may have been proposed, or may still be. An error that came with the end of ctx wraps the error of ctx, too.
func (s *Store) Propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	if err := s.checkLevel(ctx, cmds); err != nil {
		return nil, err
	}
	return inChunks(cmds, func(cmds []task.Command, bodies wire.Bodies, patient bool) ([]task.Result, error) {
		return s.proposeChunk(ctx, cmds, bodies, patient)
	})
}

// Key is a client's idempotency key (SPEC H4). The zero Key means that there is none.
type Key struct {
	Process uint64 // hash of the key and of what it is scoped by
	Body    uint64 // hash of the request; the machine refuses the same key with another body
}

// ProposeKeyed is Propose for a request that its client may send again, through any node and for as long as the machine
// keeps the key: what was applied is then answered from memory. A command is known by its place in cmds. So all
// proposals of one key must name the same commands in the same order. A nil command (a part of the request that did not
// pass this time) only keeps its place, and has a zero Result. A resend after a lost leader needs no care of its own,
// because it has the same key. The results may have the codes task.IdempotencyMismatch and task.KeysExhausted: the
// command was not applied. The errors are those of Propose; after ErrOutcomeUnknown the client may send its request
// again.
func (s *Store) ProposeKeyed(ctx context.Context, key Key, cmds ...task.Command) ([]task.Result, error) {
	if key == (Key{}) {
		return s.Propose(ctx, cmds...)
	}
	if err := s.checkLevel(ctx, cmds); err != nil {
		return nil, err
	}
	var these []task.Command
	var places []int // of these in cmds
	for i, c := range cmds {
		if c != nil {
			these, places = append(these, c), append(places, i)
		}
	}
	next := places
	rs, err := inChunks(these, func(these []task.Command, bodies wire.Bodies, patient bool) ([]task.Result, error) {
		rs, _, err := s.proposeUntil(ctx, patient, bodies, func() []task.Proposal { return key.proposals(places[0], next, these) })
		next = next[len(these):]
		return rs, err
	})
	if err != nil {
		return nil, err
	}
	results := make([]task.Result, len(cmds))
	for i, r := range rs {
		if r.Code == task.OriginForgotten { // the key was forgotten while the request was on its way
			return nil, fmt.Errorf("%w: the answers are no longer kept", ErrOutcomeUnknown)
		}
		results[places[i]] = r
	}
	return results, nil
}

// proposals makes what is sent for commands that stand at the first of the places. lowest is the place of the request's
// first command.
func (k Key) proposals(lowest int, places []int, cmds []task.Command) []task.Proposal {
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		o := task.Origin{Process: k.Process, Seq: uint64(places[i]) + 1, Lowest: uint64(lowest) + 1, Body: max(k.Body, 1)}
		ps[i] = task.Proposal{Origin: o, Command: c}
	}
	return ps
}

// inChunks proposes cmds in pieces that fit into one request. It calls propose with patient if a piece before was
// applied.
func inChunks(cmds []task.Command, propose func(cmds []task.Command, bodies wire.Bodies, patient bool) ([]task.Result, error)) ([]task.Result, error) {
	var results []task.Result
	for len(cmds) > 0 {
		bodies, err := chunk(cmds)
		n := bodies.Len()
		if err == nil {
			var rs []task.Result
			if rs, err = propose(cmds[:n], bodies, results != nil); err == nil {
				if results == nil && n == len(cmds) {
					return rs, nil
				}
				results, cmds = append(results, rs...), cmds[n:]
				continue
			}
		}
		if results != nil && !errors.Is(err, ErrOutcomeUnknown) {
			return nil, fmt.Errorf("%w: some commands were applied: %w", ErrOutcomeUnknown, err)
		}
		return nil, err
	}
	return results, nil
}

// chunk encodes as many of the first commands as fit into one request, which is one group.
func chunk(cmds []task.Command) (wire.Bodies, error) {
	tooLarge := 0
	bodies, err := wire.Pack(cmds[:min(len(cmds), maxCommands)], func(size, bytes int) bool {
		if size > maxCommandBytes {
			tooLarge = size
		}
		return tooLarge == 0 && (bytes == size || bytes <= maxGroupBytes)
	})
	switch {
	case err != nil: // if this were found out later, the other commands of its entry would fail with it
		return wire.Bodies{}, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case tooLarge > 0:
		return wire.Bodies{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, tooLarge)
	}
	return bodies, nil
}

// proposeChunk sends commands until there is an answer or ctx ends. With patient it waits where it would return
// ErrOverloaded.
func (s *Store) proposeChunk(ctx context.Context, cmds []task.Command, bodies wire.Bodies, patient bool) ([]task.Result, error) {
	results, process, resent, err := s.proposeNumbered(ctx, cmds, bodies, patient)
	for err == nil {
		var again []task.Command // commands without an answer
		var places []int
		for i, r := range results {
			if r.Code == task.OriginForgotten {
				again, places = append(again, cmds[i]), append(places, i)
			}
		}
		if len(again) == 0 {
			return results, nil
		}
		s.origins.forgotten(process)
		if resent {
			return nil, fmt.Errorf("%w: the answer is no longer kept", ErrOutcomeUnknown)
		}
		patient = patient || len(again) < len(cmds)
		var rs []task.Result
		if bodies, err = chunk(again); err == nil {
			rs, process, resent, err = s.proposeNumbered(ctx, again, bodies, patient)
		}
		for i, r := range rs {
			results[places[i]] = r
		}
	}
	return nil, err
}

// proposeNumbered gives commands numbers of this process, and sends them until there is an answer.
func (s *Store) proposeNumbered(ctx context.Context, cmds []task.Command, bodies wire.Bodies, patient bool) (rs []task.Result, by *process, resent bool, err error) {
	x := s.origins.begin(len(cmds))
	defer s.origins.end(x)
	rs, resent, err = s.proposeUntil(ctx, patient, bodies, func() []task.Proposal { return s.origins.proposals(x, cmds) })
	return rs, x.process, resent, err
}

// proposeUntil sends one run of commands, again and again, until there is an answer. It builds the proposals anew each
// time: the slice that was sent before may still lie in a queue. resent says that the answer may be to a second
// sending.
func (s *Store) proposeUntil(ctx context.Context, patient bool, bodies wire.Bodies, build func() []task.Proposal) (rs []task.Result, resent bool, err error) {
	sent := false // an earlier attempt may have been proposed
	by := s.caller(ctx)
	var retry rpc.Backoff
	for {
		leader := s.members.Leader()
		ps := build()
		for i := range ps {
			ps[i].Caller = by
			if by != (task.Caller{}) && s.cfg.Called != nil {
				ps[i].Caller = s.cfg.Called(by, ps[i].Command)
			}
		}
		rs, err = s.attempt(ctx, leader, ps, bodies)
		switch {
		case err == nil:
			return rs, sent, nil
		case errors.Is(err, ErrOutcomeUnknown):
			sent = true
		case errors.Is(err, ErrTooLarge):
			return nil, sent, err
		case errors.Is(err, ErrOverloaded) && !sent && !patient:
			return nil, sent, err
		}
		if ended := s.ended(ctx); ended != nil {
			switch {
			case sent:
				return nil, sent, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ended)
			case ctx.Err() != nil:
				return nil, sent, fmt.Errorf("%w: %w", ErrNoLeader, ended)
			}
			return nil, sent, ended
		}
		retry.Wait(ctx, s.done, leader.Changed)
	}
}

// caller says who asks for what is proposed with ctx. Below the level that knows callers it names nobody: there are no access tokens yet that could
// be revoked, and a member of a former build could not read the entry.
func (s *Store) caller(ctx context.Context) task.Caller {
	if s.cfg.Caller == nil {
		return task.Caller{}
	}
	by := s.cfg.Caller(ctx)
	if by == (task.Caller{}) || s.Level() >= task.AccessLevel {
		return by
	}
	if _ = s.catchUp(ctx); s.Level() < task.AccessLevel { // without a leader nothing is proposed either
		return task.Caller{}
	}
	return by
}

// ended says why it makes no sense to try again, or returns nil.
func (s *Store) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.failure(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return ErrClosed
	default:
		return nil
	}
}

// attempt sends commands once, to the leader. No other place of the product forwards
// (docs/architecture.md#forwarding-exists-in-one-place).
func (s *Store) attempt(ctx context.Context, leader members.Leader, ps []task.Proposal, bodies wire.Bodies) ([]task.Result, error) {
	switch {
	case s.ended(ctx) != nil, leader.Identity == "":
		return nil, ErrNoLeader
	case leader.Identity == s.identity:
		return s.proposeHere(ctx, ps, bodies)
	}
	b, err := s.callLeader(ctx, leader, rpc.KindPropose, wire.EncodeProposals(ps, bodies))
	if err != nil {
		return nil, callError(err)
	}
	rs, err := wire.DecodeResults(b)
	if err != nil || len(rs) != len(ps) {
		return nil, fmt.Errorf("%w: answer of the leader: %w", ErrOutcomeUnknown, err)
	}
	return rs, nil
}

// callLeader is rpc.Clients.Call, but ends also when another node leads: a resend finds the answer there.
func (s *Store) callLeader(ctx context.Context, leader members.Leader, kind byte, body []byte) ([]byte, error) {
	addr, ok := s.book.Where(leader.Identity)
	if !ok {
		return nil, &rpc.NotSentError{Err: ErrNoLeader}
	}
	return s.clients.Call(ctx, addr, leader.Identity, kind, body, leader.Gone)
}

// callError classifies the error of a forwarded proposal.
func callError(err error) error {
	var notSent *rpc.NotSentError
	var status *rpc.StatusError
	switch {
	case errors.As(err, &notSent):
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	case errors.As(err, &status):
		switch status.Status {
		case rpc.StatusNotLeader:
			return ErrNotLeader
		case rpc.StatusOverloaded:
			return ErrOverloaded
		case rpc.StatusStalled:
			return ErrStalled
		case rpc.StatusTooLarge, rpc.StatusRefused:
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// proposeHere puts commands into this node's own queue, and waits for their results.
func (s *Store) proposeHere(ctx context.Context, ps []task.Proposal, bodies wire.Bodies) ([]task.Result, error) {
	done := make(chan struct{})
	c := newCall(ps, bodies, func(*call) { close(done) })
	if err := s.batch.submit(c); err != nil {
		return nil, err
	}
	select {
	case <-done:
	case <-ctx.Done():
		if s.batch.withdraw(c) {
			return nil, ErrNotLeader
		}
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	case <-s.done:
		if s.batch.withdraw(c) {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrClosed)
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.results, nil
}

// ProposeLocal proposes only if this node leads. It is for the leader's own loop, whose commands (Assign, Tick,
// RenewSession) mean nothing once it is deposed. They carry no Origin and are not resent. They pass through the same
// queue as all others, in order. Errors: ErrNotLeader and ErrOverloaded: nothing was proposed. ErrOutcomeUnknown: they
// may have been.
func (s *Store) ProposeLocal(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	if len(cmds) == 0 {
		return nil, nil
	}
	if err := s.ended(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	if err := s.checkLevel(ctx, cmds); err != nil {
		return nil, err
	}
	ps, bodies, err := unnumbered(cmds)
	if err != nil {
		return nil, err
	}
	return s.proposeHere(ctx, ps, bodies)
}

// unnumbered encodes commands that carry no Origin. It returns ErrTooLarge if no log entry can hold them.
func unnumbered(cmds []task.Command) ([]task.Proposal, wire.Bodies, error) {
	bodies, err := wire.Pack(cmds, func(int, int) bool { return true })
	if err != nil {
		return nil, wire.Bodies{}, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command = c
	}
	return ps, bodies, nil
}

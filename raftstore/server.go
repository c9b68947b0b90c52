package raftstore

import (
	"context"
	"errors"

	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// handler answers the requests of other nodes.
type handler struct{ store *Store }

// Propose implements rpc.Handler. It queues forwarded commands. The goroutine that completes the call sends the answer,
// so no goroutine waits for it.
func (h handler) Propose(body []byte, r rpc.Reply) {
	ps, bodies, err := wire.DecodeProposals(body)
	if err != nil {
		// A newer node has forwarded a command that this build does not know. It was not proposed.
		r.Send(rpc.StatusRefused, []byte(err.Error()))
		return
	}
	c := newCall(ps, bodies, func(c *call) {
		r.Send(answerCall(c))
	})
	if err := h.store.batch.submit(c); err != nil {
		r.Send(statusOf(err), nil)
	}
}

func answerCall(c *call) (byte, []byte) {
	if c.err != nil {
		return statusOf(c.err), nil
	}
	body, err := wire.EncodeResults(c.results)
	if err != nil {
		return rpc.StatusUnknown, nil
	}
	return rpc.StatusOK, body
}

func statusOf(err error) byte {
	switch {
	case errors.Is(err, ErrNotLeader):
		return rpc.StatusNotLeader
	case errors.Is(err, ErrStalled): // before ErrOverloaded, because it is that, too
		return rpc.StatusStalled
	case errors.Is(err, ErrOverloaded):
		return rpc.StatusOverloaded
	case errors.Is(err, ErrTooLarge):
		return rpc.StatusTooLarge
	}
	return rpc.StatusUnknown
}

// termReply is the highest term that the node has seen.
type termReply struct {
	Term uint64 `cbor:"1,keyasint"`
}

type indexReply struct {
	Index uint64 `cbor:"1,keyasint"`
}

// Answer implements rpc.Handler.
func (h handler) Answer(ctx context.Context, from string, kind byte, body []byte) (byte, []byte) {
	s := h.store
	switch kind {
	case rpc.KindReadIndex:
		index, err := s.readLocal(ctx, from, body)
		if err != nil {
			return rpc.StatusNotLeader, nil
		}
		return rpc.Encode(indexReply{index})
	case rpc.KindDigest:
		return rpc.Handle(body, func(q digestRequest) (digestReply, error) { return s.answerDigest(q), nil })
	case rpc.KindDiverged:
		return rpc.Handle(body, func(d task.Digest) (struct{}, error) { s.toldDiverged(d); return struct{}{}, nil })
	case rpc.KindTerm:
		return rpc.Handle(body, func(struct{}) (termReply, error) { return s.ownTerm() })
	case rpc.KindTransfer:
		return rpc.Handle(body, func(q change.TransferRequest) (struct{}, error) { return struct{}{}, s.changes.HandOver(ctx, q.To) })
	}
	return s.members.Answer(ctx, from, kind, body)
}

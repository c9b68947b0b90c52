package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker/stream"
)

// asking is a question to the leader that a guest waits for.
type asking struct {
	ask      stream.Ask
	sent     bool               // on the present connection
	answered chan stream.Answer // capacity 1
}

// askPatience is how long a guest waits for the leader. A leader that does not know the question never answers. Then the guest gets
// EAGAIN, as it does when no leader can be reached.
const askPatience = 15 * time.Second

var errUnanswered = errors.New("worker: the leader does not answer")

// ask passes a guest's question on to the leader and waits for the answer. It asks again after a reconnect.
func (h host) ask(ctx context.Context, op abi.Op, payload []byte) ([]byte, error) {
	q := h.queueAsk(op, payload)
	if q == nil {
		return nil, runtime.ErrLeaseLost
	}
	defer h.s.forgetAsk(q)
	patience := time.NewTimer(askPatience)
	defer patience.Stop()
	select {
	case a := <-q.answered:
		if a.Status != 0 {
			return nil, runtime.ErrorOf(abi.Errno(a.Status))
		}
		return a.Payload, nil
	case <-patience.C:
		return nil, errUnanswered
	case <-ctx.Done():
		return nil, h.interrupted(ctx, ctx.Err())
	case <-h.ctx.Done():
		return nil, h.interrupted(ctx, h.ctx.Err())
	}
}

// queueAsk queues a question. It returns nil if the run has nothing to say any longer.
func (h host) queueAsk(op abi.Op, payload []byte) *asking {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || h.halted {
		return nil
	}
	s.asked++
	q := &asking{
		ask:      stream.Ask{ID: s.asked, Key: h.key, Token: h.token, Op: int32(op), Payload: payload},
		answered: make(chan stream.Answer, 1),
	}
	s.asks = append(s.asks, q)
	s.nudge()
	return q
}

func (s *session) forgetAsk(q *asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = slices.DeleteFunc(s.asks, func(x *asking) bool { return x == q })
}

// takeAsksLocked returns the questions that are to be sent now.
func (s *session) takeAsksLocked() []*stream.Ask {
	var asks []*stream.Ask
	for _, q := range s.asks {
		if !q.sent {
			q.sent = true
			asks = append(asks, &q.ask)
		}
	}
	return asks
}

// answered hands an answer to the guest that waits for it. It drops an answer that came twice, over two connections.
func (s *session) answered(a stream.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asks {
		if q.ask.ID == a.ID {
			select {
			case q.answered <- a:
			default:
			}
		}
	}
}

package lead

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// Store is what leading needs of the replicated store. raftstore.Store implements it.
type Store interface {
	ProposeLocal(context.Context, ...task.Command) ([]task.Result, error)
	Accompany(raftstore.Companion)
	Local(func(*task.Machine))
	Leader() (id, addr string)
	// Stamps says what the leader would stamp on an entry now (SPEC C3). It returns false on a node that does not lead.
	Stamps() (task.Time, task.LeaseTime, bool)
}

// Subscription delivers the events of this node's machine: raftstore's, or a test's.
type Subscription interface {
	Events() <-chan []task.Event
	Lagged() bool
	Close()
}

// Logs keeps what attempts log.
type Logs interface {
	Append(key task.Key, token uint64, attempt int64, p logs.Piece) error
}

// Config is what a Hub needs of its node.
type Config struct {
	// ID is the node's identity, which workers are told.
	ID string
	// TTL is given to the sessions that are opened while this node leads.
	TTL       time.Duration
	Store     Store
	Subscribe func() Subscription
	Clock     raftstore.Clock
	Logs      Logs
	Logger    *slog.Logger
	// Maintenance says how the built-in behavior is set up, once per term.
	Maintenance maintain.Config
	// Backups returns the commands that set up scheduled backups, none if that is done. nil: this node makes none.
	Backups func(*task.Machine) ([]task.Command, error)
	// Beside are run in each term, until it ends.
	Beside []func(ctx context.Context)
	// Progress is told of progress that is not in the log yet. It must not block.
	Progress func([]watch.Live)
	// Children makes the submits of the children of a success, or says which child cannot be submitted (SPEC B6).
	Children func(ctx context.Context, parent *task.Finish, docs [][]byte) ([]task.Submit, error)
}

// Hub is where workers' streams arrive. While this node leads, a term assigns tasks and carries reports; otherwise the
// hub tells each worker who leads. A successor needs nothing of it, because everything is derived from the machine.
type Hub struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	logCh  chan []stream.Log

	refused mux.Refusals // streams that ended because their worker spoke for attempts of others

	mu   sync.Mutex
	term *term // nil while this node does not lead
}

// logBacklog is how many frames of logs may wait for the disk. Further frames are dropped: a slow disk must not keep
// renewals from being read.
const logBacklog = 256

// New opens a hub. Close must follow.
func New(cfg Config) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{cfg: cfg, ctx: ctx, cancel: cancel, logCh: make(chan []stream.Log, logBacklog)}
	h.refused.LogTo(cfg.Logger, "ended the stream of a worker that speaks for others; further ones of this minute are counted only")
	h.wg.Go(h.writeLogs)
	return h
}

// Breaches returns how many streams this node has ended because their worker spoke for attempts of others (SPEC A2).
func (h *Hub) Breaches() int64 { return h.refused.Count() }

// Close ends all streams and waits for all goroutines.
func (h *Hub) Close() {
	h.mu.Lock() // no connection is taken in between
	h.cancel()
	h.mu.Unlock()
	h.wg.Wait()
}

// Lead starts a term when this node gains leadership and ends the term when it loses it, until the hub closes.
func (h *Hub) Lead(leadership <-chan raftstore.Leadership) {
	defer h.end()
	for {
		select {
		case l, ok := <-leadership:
			if !ok {
				return
			}
			h.end() // "lost and regained" arrives as one value, and what the term has learned may be stale
			if l.Leading {
				h.begin(l.Term)
			}
		case <-h.ctx.Done():
			return
		}
	}
}

func (h *Hub) begin(number uint64) {
	t := newTerm(h, number)
	h.mu.Lock()
	h.term = t
	h.mu.Unlock()
	h.cfg.Logger.Info("assigning", "term", number)
}

func (h *Hub) end() {
	h.mu.Lock()
	t := h.term
	h.term = nil
	h.mu.Unlock()
	if t != nil {
		t.close()
		h.cfg.Logger.Info("no longer leading", "term", t.number)
	}
}

func (h *Hub) current() *term {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term
}

// ServeWorkers takes the streams of workers until the hub closes.
func (h *Hub) ServeWorkers(network mux.Network) error { return h.serve(network, mux.Stream, h.handle) }

// ServeAccepts takes the links of nodes that accepts came to, until the hub closes.
func (h *Hub) ServeAccepts(network mux.Network) error {
	return h.serve(network, mux.Accept, h.handleAccepts)
}

// serve hands each connection of a protocol to handle, in a goroutine of its own, until the hub closes.
func (h *Hub) serve(network mux.Network, p mux.Protocol, handle func(net.Conn)) error {
	ln := network.Listen(p)
	stop := context.AfterFunc(h.ctx, func() { _ = ln.Close() })
	defer stop()
	for {
		nc, err := ln.Accept()
		if err != nil {
			if h.ctx.Err() != nil {
				return nil
			}
			return err
		}
		if !take(h, func() { handle(nc) }) {
			_ = nc.Close()
		}
	}
}

// take runs a function beside the hub, unless the hub has closed.
func take(h *Hub, run func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.wg.Go(run)
	return true
}

// helloTimeout is how long a new connection may take to say who it is. goodbyeTimeout is how long a last frame may
// take.
const (
	helloTimeout   = 10 * time.Second
	goodbyeTimeout = 2 * time.Second
)

func (h *Hub) handle(nc net.Conn) {
	conn, err := stream.New(nc, stream.Options{})
	if err != nil {
		h.cfg.Logger.Error("cannot speak to a worker", "err", err)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(h.ctx, func() { _ = nc.Close() })()
	_ = nc.SetReadDeadline(time.Now().Add(helloTimeout))
	f, err := conn.Recv()
	if err != nil || f.Hello == nil && f.Crash == nil {
		h.cfg.Logger.Debug("a stream did not begin with hello", "from", nc.RemoteAddr(), "err", err)
		return
	}
	_ = nc.SetReadDeadline(time.Time{})
	switch t := h.current(); {
	case !mayWork(nc, &f):
		refuse(conn, stream.Refused{Code: string(task.InvalidCommand), Message: "the certificate is of another worker"})
	case t == nil:
		h.refuseNotLeader(conn)
	case f.Crash != nil:
		t.crashed(conn, *f.Crash)
	default:
		t.serve(conn, f.Hello)
	}
}

// mayWork reports whether the other end of a stream may be the worker that it says it is. It may be its own node's, or have no node.
func mayWork(nc net.Conn, f *stream.Frame) bool {
	if f.Crash != nil {
		return mux.MayBe(nc, mux.Node, f.Crash.Worker) || mux.MayBe(nc, mux.Worker, f.Crash.Worker)
	}
	if f.Hello.Node == "" {
		return mux.MayBe(nc, mux.Worker, f.Hello.Worker)
	}
	return mux.MayBe(nc, mux.Node, f.Hello.Worker) && mux.MayBe(nc, mux.Node, f.Hello.Node)
}

func (h *Hub) refuseNotLeader(conn *stream.Conn) {
	id, addr := h.cfg.Store.Leader()
	if id == h.cfg.ID {
		addr = "" // elected, but the term has not begun: the worker tries again
	}
	refuse(conn, stream.Refused{Code: stream.NotLeader, Message: "this node does not lead", Leader: addr})
}

func refuse(conn *stream.Conn, r stream.Refused) { lastFrame(conn, stream.Frame{Refused: &r}) }

// lastFrame sends the last frame of a stream, and waits until it has left.
func lastFrame(conn *stream.Conn, f stream.Frame) {
	if err := conn.Send(f); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeTimeout)
	defer cancel()
	_ = conn.Flush(ctx) // the peer may be gone
}

// keepLogs hands pieces of logs to the disk, and never waits for it.
func (h *Hub) keepLogs(ls []stream.Log) {
	select {
	case h.logCh <- ls:
	default:
		h.cfg.Logger.Warn("dropped logs of attempts: the disk is too slow", "pieces", len(ls))
	}
}

func (h *Hub) writeLogs() {
	for {
		select {
		case ls := <-h.logCh:
			for _, l := range ls {
				err := h.cfg.Logs.Append(l.Key, l.Token, l.Attempt, logs.Piece{Offset: l.Offset, Data: l.Data})
				if err != nil {
					h.cfg.Logger.Warn("cannot keep the log of an attempt", "task", l.Key.ID, "err", err)
				}
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// retriable reports whether this leader may make a failed proposal again.
func retriable(err error) bool { return errors.Is(err, raftstore.ErrOverloaded) }

func tooLarge(err error) bool { return errors.Is(err, raftstore.ErrTooLarge) }

package accept

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// Config is what a Client needs of its node.
type Config struct {
	Net mux.Network
	// Follow says where the leader is; see raftstore.Store.Follow.
	Follow func() (addr string, gone, changed <-chan struct{})
	Logger *slog.Logger
}

// ErrOverloaded says that too many accepts wait.
var ErrOverloaded = errors.New("accept: too many wait")

const (
	dialTimeout = time.Second
	backoffMin  = 10 * time.Millisecond
	backoffMax  = 500 * time.Millisecond
	// idleLink is how long a link without calls is kept.
	idleLink = 10 * time.Second
	// abandonFor is how long the leader is asked to take back the leases of an abandoned call. After it they run out by
	// themselves.
	abandonFor = time.Minute
)

// Client brings the calls of one node to the leader, and asks them again when the leader changes. One link at a time
// carries all calls. Without calls there is no link and nothing to do.
type Client struct {
	cfg  Config
	wake chan struct{}

	mu        sync.Mutex
	calls     map[uint64]*Call
	abandoned map[uint64]*abandoned
	to        *link         // nil: not connected
	settled   chan struct{} // nil, or closed when no calls are left, not even abandoned ones
}

// Call is one client that waits.
type Call struct {
	ask    Ask
	since  time.Time
	Answer chan Answer // receives one answer
}

type abandoned struct {
	Abandon
	until time.Time
}

// NewClient returns a client. Calls are answered only while Run runs.
func NewClient(cfg Config) *Client {
	return &Client{
		cfg: cfg, wake: make(chan struct{}, 1),
		calls: map[uint64]*Call{}, abandoned: map[uint64]*abandoned{},
	}
}

// Begin asks q; it fills in q.Call and q.Age. The call ends with its answer or by Abandon. The error is ErrOverloaded:
// too many calls wait, or too many were abandoned since a leader last heard of such calls.
func (c *Client) Begin(q Ask) (*Call, error) {
	q.Call, q.Age = max(rand.Uint64(), 1), 0
	call := &Call{ask: q, since: time.Now(), Answer: make(chan Answer, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) >= MaxWaiting || len(c.abandoned) >= MaxWaiting {
		return nil, ErrOverloaded
	}
	c.calls[q.Call] = call
	c.sayLocked(&Frame{Ask: &q})
	return call, nil
}

// Settle ends the wait of a call: its answer comes as soon as the leader can give one.
func (c *Client) Settle(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[call.ask.Call] == nil {
		return
	}
	call.ask.Settle = true
	c.sayLocked(&Frame{Settle: call.ask.Call})
}

// Abandon says that nobody will take the answer of the call, whether the answer has come or not. It does not wait.
func (c *Client) Abandon(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.ask.Call)
	a := &abandoned{Abandon{call.ask.Call, call.ask.Key}, time.Now().Add(abandonFor)}
	c.abandoned[a.Call] = a
	c.sayLocked(&Frame{Abandon: &a.Abandon})
}

// sayLocked sends a frame if there is a link. If there is no link, it wakes Run: a new link begins with everything that is open.
func (c *Client) sayLocked(f *Frame) {
	if c.to != nil {
		c.to.send(f)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Settled waits, until ctx ends, for every call to be answered or taken back by the leader.
func (c *Client) Settled(ctx context.Context) {
	c.mu.Lock()
	if c.settled == nil {
		c.settled = make(chan struct{})
	}
	settled := c.settled
	c.quietLocked()
	c.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// quietLocked reports whether nothing is open. If so it wakes the callers of Settled.
func (c *Client) quietLocked() bool {
	if len(c.calls)+len(c.abandoned) > 0 {
		return false
	}
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
	return true
}

// quiet is quietLocked after calls that were abandoned too long ago have been forgotten.
func (c *Client) quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for call, a := range c.abandoned {
		if now.After(a.until) {
			delete(c.abandoned, call)
		}
	}
	return c.quietLocked()
}

// Run keeps a link to the leader while there are calls, until ctx ends.
func (c *Client) Run(ctx context.Context) {
	pause := backoffMin
	for ctx.Err() == nil {
		if c.quiet() {
			select {
			case <-c.wake:
			case <-ctx.Done():
			}
			continue
		}
		addr, gone, changed := c.cfg.Follow()
		if addr != "" {
			began := time.Now()
			err := c.connect(ctx, addr, gone)
			c.cfg.Logger.Debug("link for accepts ended", "leader", addr, "err", err)
			if time.Since(began) > backoffMax {
				pause = backoffMin
			}
		}
		t := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-t.C:
		case <-changed:
		case <-ctx.Done():
		}
		t.Stop()
		pause = min(2*pause, backoffMax)
	}
}

// connect carries calls over one link until the leader changes, the connection breaks, or there are no calls.
func (c *Client) connect(ctx context.Context, addr string, gone <-chan struct{}) error {
	dctx, cancel := context.WithTimeout(ctx, dialTimeout)
	nc, err := c.cfg.Net.Dial(dctx, addr, mux.Accept)
	cancel()
	if err != nil {
		return err
	}
	l := newLink(nc)
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer nc.Close()
	defer close(done)
	c.open(l)
	defer c.close()
	wg.Go(func() {
		_ = l.write(done)
		_ = nc.Close()
	})
	wg.Go(func() {
		c.watch(ctx, done, gone)
		_ = nc.Close()
	})
	for {
		var a Answer
		if err := l.read(&a); err != nil {
			return err
		}
		c.take(a)
	}
}

// watch returns when the link must end.
func (c *Client) watch(ctx context.Context, done, gone <-chan struct{}) {
	idle := time.NewTicker(idleLink)
	defer idle.Stop()
	for {
		select {
		case <-done:
			return
		case <-gone:
			return
		case <-ctx.Done():
			return
		case <-idle.C:
			if c.quiet() {
				return
			}
		}
	}
}

// open makes l the client's link, and sends over it everything that is open.
func (c *Client) open(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = l
	for _, a := range c.abandoned {
		l.send(&Frame{Abandon: &a.Abandon})
	}
	for _, call := range c.calls {
		q := call.ask
		q.Age = time.Since(call.since).Milliseconds()
		l.send(&Frame{Ask: &q})
	}
}

func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = nil
}

// take hands an answer to its call.
func (c *Client) take(a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Abandoned {
		delete(c.abandoned, a.Call)
	} else if call := c.calls[a.Call]; call != nil {
		delete(c.calls, a.Call)
		call.Answer <- a
	}
	c.quietLocked()
}

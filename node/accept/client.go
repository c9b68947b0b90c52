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
	// abandonFor is how long the leader is asked to take back what nobody wants. After it the leases run out by themselves.
	abandonFor = time.Minute
)

// Client brings the calls of one node to whoever leads, and asks again when that changes. One link at a time carries
// them all. Without calls it does nothing.
type Client struct {
	cfg  Config
	wake chan struct{}

	mu        sync.Mutex
	calls     map[uint64]*Call
	abandoned map[uint64]*abandoned
	to        *link         // nil: not connected
	settled   chan struct{} // not nil: closed when neither calls nor abandoned ones are left
}

// Call is one client that waits.
type Call struct {
	ask    Ask
	since  time.Time
	Answer chan Answer // receives one
}

type abandoned struct {
	Abandon
	until time.Time
}

// NewClient returns a client; Run must be running for calls to be answered.
func NewClient(cfg Config) *Client {
	return &Client{
		cfg: cfg, wake: make(chan struct{}, 1),
		calls: map[uint64]*Call{}, abandoned: map[uint64]*abandoned{},
	}
}

// Begin asks. Of q, Call and Age are filled in here. The call ends with its answer or by Abandon. The error is
// ErrOverloaded: too many wait, or too many have hung up since there was a leader to hear of it.
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

// Abandon says that nobody takes the answer of the call, whether it has come or not. It does not wait.
func (c *Client) Abandon(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.ask.Call)
	a := &abandoned{Abandon{call.ask.Call, call.ask.Key}, time.Now().Add(abandonFor)}
	c.abandoned[a.Call] = a
	c.sayLocked(&Frame{Abandon: &a.Abandon})
}

// sayLocked sends a frame if there is a link; a new link begins with everything that is open.
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

// Settled waits, until ctx ends, for the leader to have heard of everything that was abandoned.
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

// quietLocked tells whether nothing is open, and tells those who wait for it.
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

// quiet is quietLocked, after forgetting what was abandoned too long ago.
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

// Run connects to whoever leads while there are calls, until ctx ends.
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

// connect carries calls over one link until it ends: the leader has another, the connection breaks, or there are no calls.
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

// watch returns when the link is to end.
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

// open makes l the link, and says over it everything that is open.
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

// take hands out an answer.
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

package peers

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/watch"
)

// Progress brings progress that is not in the log to the nodes at which somebody watches (SPEC W3). It comes from the
// leader, because workers tell the leader. Nothing depends on it: lost progress comes with the next renewal.
type Progress struct {
	net    mux.Network
	feed   *watch.Feed
	self   string                                           // this node's address
	follow func() (addr string, gone, news <-chan struct{}) // raftstore.Store.Follow
	logger *slog.Logger

	mu    sync.Mutex
	peers map[chan []watch.Live]struct{} // a channel for each node that listens
}

const (
	backlog = 64              // frames that may wait for one node; further frames are dropped
	pulse   = 3 * time.Second // how often an idle leader says that it is there
	silence = 10 * time.Second
	again   = 250 * time.Millisecond // pause before the leader is asked again
)

// frame is one frame from the leader, a JSON value. Unknown fields are ignored (SPEC C4).
type frame struct {
	Live []watch.Live `json:"live,omitempty"`
}

// NewProgress makes a Progress for a node that others reach at the address self.
func NewProgress(network mux.Network, feed *watch.Feed, self string, follow func() (string, <-chan struct{}, <-chan struct{}), logger *slog.Logger) *Progress {
	return &Progress{net: network, feed: feed, self: self, follow: follow, logger: logger, peers: map[chan []watch.Live]struct{}{}}
}

// Publish tells the listeners what workers have told this node, which leads. It never waits.
func (l *Progress) Publish(ls []watch.Live) {
	l.feed.Live(ls)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.peers {
		select {
		case c <- ls:
		default:
		}
	}
}

// serve tells one node what is published, until the node goes away.
func (l *Progress) serve(ctx context.Context, conn net.Conn) error {
	frames := make(chan []watch.Live, backlog)
	l.mu.Lock()
	l.peers[frames] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.peers, frames)
	}()
	enc := json.NewEncoder(conn)
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		var f frame
		select {
		case f.Live = <-frames:
		case <-beat.C:
		case <-ctx.Done():
			return nil
		}
		_ = conn.SetWriteDeadline(time.Now().Add(silence))
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
}

// Run listens to the leader, as long as somebody watches here and another node leads.
func (l *Progress) Run(ctx context.Context) {
	for ctx.Err() == nil {
		on, wanted := l.feed.Wanted()
		addr, gone, news := l.follow()
		if on && addr != "" && addr != l.self {
			if err := l.listen(ctx, addr, gone); err != nil && ctx.Err() == nil {
				l.logger.Debug("no live progress from the leader", "leader", addr, "err", err)
			}
			idle.For(ctx, again)
			continue
		}
		select {
		case <-wanted:
		case <-news:
		case <-ctx.Done():
		}
	}
}

// listen takes what the leader tells, until it no longer leads or nobody watches here any longer.
func (l *Progress) listen(ctx context.Context, addr string, gone <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialing, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	conn, err := l.net.Dial(dialing, addr, mux.Peer)
	if err != nil {
		return err
	}
	defer conn.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		l.until(ctx, gone)
		_ = conn.Close()
	})
	if err := json.NewEncoder(conn).Encode(Request{Op: opProgress}); err != nil {
		return err
	}
	dec := json.NewDecoder(conn)
	for {
		var f frame
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		if err := dec.Decode(&f); err != nil {
			return err
		}
		if len(f.Live) > 0 {
			l.feed.Live(f.Live)
		}
	}
}

// until returns when there is no more reason to listen.
func (l *Progress) until(ctx context.Context, gone <-chan struct{}) {
	for {
		on, wanted := l.feed.Wanted()
		if !on {
			return
		}
		select {
		case <-wanted:
		case <-gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/mux"
)

// transport is raft's NetworkTransport without the heartbeat fast path. Heartbeats that are handled on the transport's
// own goroutine let a deposed leader write its commands under a term that it does not lead (raft #695,
// docs/architecture.md#heartbeats). Without a handler they go through raft's main loop, where every change of term then
// happens.
type transport struct {
	*raft.NetworkTransport
	layer    *streamLayer
	commits  *commits      // told by the fsm
	durable  func() uint64 // see parallelLog
	installs *installs
	returns  *returns
	yields   *yields
}

var (
	_ raft.Transport   = transport{}
	_ raft.WithPreVote = transport{}
	_ raft.WithClose   = transport{}
)

// SetHeartbeatHandler implements raft.Transport by ignoring the handler.
func (transport) SetHeartbeatHandler(func(raft.RPC)) {}

// withoutMore returns req, but lets it tell of no commit beyond what is durable here, nor beyond its own entries. A follower believes that all of its
// log up to the named index is committed, and entries that it has behind this request's may come from another leader.
func withoutMore(req *raft.AppendEntriesRequest, durable uint64) raft.AppendEntriesRequest {
	r := *req
	r.LeaderCommitIndex = min(r.LeaderCommitIndex, durable, r.PrevLogEntry+uint64(len(r.Entries)))
	return r
}

// Consumer implements raft.Transport.
func (t transport) Consumer() <-chan raft.RPC { return t.installs.out }

func newTransport(c *Config, log *snapLog, durable func() uint64, worth func(raft.ServerAddress, uint64) bool, y *yields) transport {
	layer := newStreamLayer(c)
	t := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, MaxPool: 3, Timeout: c.RPCTimeout, Logger: hclogTo(c.Logger),
	})
	return transport{
		NetworkTransport: t, layer: layer, commits: &commits{pause: c.CommitPause, lone: c.LoneCommitPause}, durable: durable, installs: newInstalls(t.Consumer(), log, y, layer.holders),
		returns: &returns{done: layer.done, worth: worth}, yields: y,
	}
}

// shut closes everything, also the connections that were accepted, which the library leaves open.
func (t transport) shut() {
	_ = t.Close()
	t.CloseStreams()
	t.layer.shut()
	t.installs.shut()
}

// handshakeTimeout bounds how long a new connection may take to say whom it is for.
const handshakeTimeout = 5 * time.Second

// streamLayer is raft's way to the network. To raft an address is an identity; Config.Where knows where the identity
// lives now. Each connection begins with the identity that it is meant for. Otherwise a request for one node could
// reach another after a change of addresses, and raft would count its answer as the first node's.
type streamLayer struct {
	ln    net.Listener
	net   mux.Network
	where func(identity string) (addr string, ok bool)
	self  string

	holders *holders

	accepted chan net.Conn
	done     chan struct{}
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]with
	shutd bool
}

func newStreamLayer(c *Config) *streamLayer {
	l := &streamLayer{
		ln: c.Net.Listen(mux.Raft), net: c.Net, where: c.Where, self: c.Identity,
		accepted: make(chan net.Conn), done: make(chan struct{}), conns: map[net.Conn]with{}, holders: newHolders(c),
	}
	l.wg.Go(l.acceptAll)
	return l
}

func (l *streamLayer) acceptAll() {
	for {
		c, err := l.ln.Accept()
		if err != nil {
			select {
			case <-l.done:
			default:
				if !errors.Is(err, net.ErrClosed) {
					select {
					case <-l.done:
					case <-time.After(50 * time.Millisecond):
						continue
					}
				}
			}
			return
		}
		t, ok := l.track(c, with{})
		if !ok {
			c.Close()
			return
		}
		l.wg.Go(func() {
			err := l.greet(t)
			if err == nil {
				err = l.holders.wait(l.done)
			}
			if err != nil {
				_ = t.Close()
				return
			}
			select {
			case l.accepted <- t:
			case <-l.done:
				_ = t.Close()
			}
		})
	}
}

// greet reads whom an incoming connection is for.
func (l *streamLayer) greet(c *trackedConn) error {
	_ = c.SetReadDeadline(time.Now().Add(handshakeTimeout))
	var n [1]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return err
	}
	to := make([]byte, n[0])
	if _, err := io.ReadFull(c, to); err != nil {
		return err
	}
	from, start, err := l.holders.caller(to)
	if err != nil {
		return err
	}
	if !c.is(with{identity: from, start: start}) || from != "" && !mux.MayBe(c.Conn, mux.Node, from) || !l.holders.holds(from, start) { // it may have been confirmed meanwhile
		return fmt.Errorf("raftstore: %q may not call", from)
	}
	return c.SetReadDeadline(time.Time{})
}

// Dial implements raft.StreamLayer.
func (l *streamLayer) Dial(identity raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	addr, ok := l.where(string(identity))
	if !ok {
		return nil, fmt.Errorf("raftstore: no address known of %s", identity)
	}
	if err := l.holders.wait(l.done); err != nil {
		return nil, err
	}
	// A dial to a dead host must not keep a vote or a heartbeat waiting for the whole timeout.
	ctx, cancel := context.WithTimeout(context.Background(), min(timeout, 2*time.Second))
	defer cancel()
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	c, err := l.net.Dial(ctx, addr, mux.Raft)
	if err != nil {
		return nil, err
	}
	if !mux.MayBe(c, mux.Node, string(identity)) {
		c.Close()
		return nil, fmt.Errorf("raftstore: %s is not %s", addr, identity)
	}
	t, ok := l.track(c, with{identity: string(identity), addr: addr})
	if !ok {
		c.Close()
		return nil, net.ErrClosed
	}
	if now, _ := l.where(string(identity)); now != addr { // another start was confirmed while this node dialled
		_ = t.Close()
		return nil, fmt.Errorf("raftstore: %s is not at %s any more", identity, addr)
	}
	_ = t.SetWriteDeadline(time.Now().Add(timeout))
	if _, err := t.Write(l.holders.preamble(string(identity))); err != nil {
		_ = t.Close()
		return nil, err
	}
	_ = t.SetWriteDeadline(time.Time{})
	return t, nil
}

// Accept implements net.Listener.
func (l *streamLayer) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *streamLayer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shutd {
		l.shutd = true
		close(l.done)
	}
	return l.ln.Close()
}

// Addr implements net.Listener. To raft, this node's address is its identity.
func (l *streamLayer) Addr() net.Addr { return identityAddr(l.self) }

type identityAddr string

func (identityAddr) Network() string  { return "taskrt" }
func (a identityAddr) String() string { return string(a) }

func (l *streamLayer) shut() {
	_ = l.Close()
	l.mu.Lock()
	for c := range l.conns {
		c.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// track remembers c until it is closed.
func (l *streamLayer) track(c net.Conn, other with) (*trackedConn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shutd {
		return nil, false
	}
	l.conns[c] = other
	return &trackedConn{Conn: c, layer: l}, true
}

type trackedConn struct {
	net.Conn
	layer *streamLayer
	once  sync.Once
}

// is notes what is at the other end.
func (c *trackedConn) is(other with) (open bool) {
	c.layer.mu.Lock()
	defer c.layer.mu.Unlock()
	if _, open = c.layer.conns[c.Conn]; open {
		c.layer.conns[c.Conn] = other
	}
	return open
}

func (c *trackedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.layer.mu.Lock()
		delete(c.layer.conns, c.Conn)
		c.layer.mu.Unlock()
	})
	return err
}

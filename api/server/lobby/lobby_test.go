package lobby

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// street is a listener of connections in memory, each from an address.
type street struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newStreet() *street { return &street{conns: make(chan net.Conn), done: make(chan struct{})} }

func (s *street) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *street) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *street) Addr() net.Addr { return &net.TCPAddr{} }

type from struct {
	net.Conn
	addr string
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

func (f from) RemoteAddr() net.Addr { return addr(f.addr) }

// come connects from an address, with port 1, and returns the far end.
func (s *street) come(host string) net.Conn {
	near, far := net.Pipe()
	s.conns <- from{near, net.JoinHostPort(host, "1")}
	return far
}

// serve runs a server that answers every request behind a lobby with these bounds. body runs in the bubble.
func serve(t *testing.T, waiting, idle, open int, handler http.HandlerFunc, body func(s *street, l *Lobby)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		l := New(s, Config{})
		l.waiting, l.idle, l.open = waiting, idle, open
		l.queues[Waiting].few, l.queues[Idle].few = 1, 1
		server := &http.Server{Handler: handler, ConnState: l.Follow} //nolint:gosec // slow ones are what is tested
		var wg sync.WaitGroup
		wg.Go(func() { _ = server.Serve(l) })
		body(s, l)
		server.Close()
		wg.Wait()
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.count != 0 || l.queues[Waiting].len() != 0 || l.queues[Idle].len() != 0 || len(l.pace) != 0 {
			t.Errorf("after the end: %d open, %d wait, %d are idle, %d compute", l.count, l.queues[Waiting].len(), l.queues[Idle].len(), len(l.pace))
		}
	})
}

func ok(http.ResponseWriter, *http.Request) {}

// ask sends one request and reads its answer.
func ask(t *testing.T, c net.Conn) {
	t.Helper()
	go io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	b := make([]byte, 4096)
	if n, err := c.Read(b); err != nil || string(b[:15]) != "HTTP/1.1 200 OK" {
		t.Errorf("answer: %q, %v", b[:n], err)
	}
	synctest.Wait()
}

// closed reports whether the server has closed a connection.
func closed(c net.Conn) bool {
	got := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		got <- err
	}()
	synctest.Wait()
	select {
	case err := <-got:
		return err == io.EOF //nolint:errorlint // a pipe's own
	default:
		return false
	}
}

func end(conns ...net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// TestStrangersWaitInBounds: of those whose first request has not come, the address with the most loses its oldest one; an address that has few keeps them,
// however old they are. A header that has begun counts for nothing (SPEC A9).
func TestStrangersWaitInBounds(t *testing.T) {
	serve(t, 8, 100, 100, ok, func(s *street, l *Lobby) {
		honest := s.come("10.0.0.1")
		var strangers []net.Conn
		for range 10 {
			c := s.come("10.0.0.2")
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost:")
			strangers = append(strangers, c)
		}
		synctest.Wait()
		if n := l.queues[Waiting].len(); n != 8 {
			t.Errorf("%d wait", n)
		}
		for i, c := range strangers {
			if got := closed(c); got != (i < 3) {
				t.Errorf("stranger %d closed: %v", i, got)
			}
		}
		ask(t, honest)
		if got := l.Dropped(Waiting); got != 3 {
			t.Errorf("%d dropped", got)
		}
		end(append(strangers, honest)...)
	})
}

// TestManyAddresses: where no address has more than a few, the oldest one goes, and none of the client that has several.
func TestManyAddresses(t *testing.T) {
	serve(t, 4, 100, 100, ok, func(s *street, l *Lobby) {
		l.queues[Waiting].few = 3
		var conns []net.Conn
		for i := range 6 {
			conns = append(conns, s.come("10.0.1."+strconv.Itoa(min(i, 3))))
		}
		synctest.Wait()
		for i, c := range conns {
			if got := closed(c); got != (i < 2) {
				t.Errorf("connection %d closed: %v", i, got)
			}
		}
		end(conns...)
	})
}

// TestIdleInBounds: idle connections are bounded by address like those that wait. Who has asked once waits no more.
func TestIdleInBounds(t *testing.T) {
	serve(t, 2, 3, 100, ok, func(s *street, l *Lobby) {
		var conns []net.Conn
		for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2"} {
			c := s.come(host)
			ask(t, c)
			conns = append(conns, c)
		}
		for i, c := range conns[1:] {
			if got := closed(c); got != (i == 0) {
				t.Errorf("connection %d closed: %v", i+1, got)
			}
		}
		ask(t, conns[0])
		if w, i := l.Dropped(Waiting), l.Dropped(Idle); w != 0 || i != 1 {
			t.Errorf("dropped: %d, %d", w, i)
		}
		end(conns...)
	})
}

// TestOpenInBounds: when so many are open, a new one takes the place of an idle one, then of one that waits. Where all are being answered, it is
// closed itself.
func TestOpenInBounds(t *testing.T) {
	var release chan struct{}
	serve(t, 100, 100, 3, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-release
		}
	}, func(s *street, l *Lobby) {
		release = make(chan struct{}) // of this bubble
		hold := func(c net.Conn) {
			_, _ = io.WriteString(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
			synctest.Wait()
		}
		idle, first, waits := s.come("10.0.0.1"), s.come("10.0.0.2"), s.come("10.0.0.3")
		ask(t, idle)
		hold(first)
		second := s.come("10.0.0.4")
		synctest.Wait()
		if !closed(idle) || closed(waits) {
			t.Error("the idle one was to go")
		}
		hold(second)
		third := s.come("10.0.0.5")
		synctest.Wait()
		hold(third)
		fourth := s.come("10.0.0.6")
		if !closed(fourth) || l.Dropped(Open) != 1 || l.Dropped(Idle) != 1 || l.Dropped(Waiting) != 1 {
			t.Errorf("dropped: %d, %d, %d", l.Dropped(Open), l.Dropped(Idle), l.Dropped(Waiting))
		}
		l.mu.Lock()
		if l.count != 3 {
			t.Errorf("%d are open", l.count)
		}
		l.mu.Unlock()
		close(release)
		end(idle, first, waits, second, third, fourth)
	})
}

// TestHandshakesTakeTurns: between what it has read and its next Read or Write a connection that waits computes, and few do so at a time. A connection that
// is closed meanwhile takes no place.
func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		l := New(s, Config{})
		l.pace = make(chan struct{}, 1)
		var conns, far []net.Conn
		for range 3 {
			var wg sync.WaitGroup
			wg.Go(func() { far = append(far, s.come("10.0.0.1")) })
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			conns = append(conns, c)
		}
		read := func(i int) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := conns[i].Read(make([]byte, 1))
				done <- err
			}()
			_, _ = far[i].Write([]byte{1})
			synctest.Wait()
			return done
		}
		first, second, third := read(0), read(1), read(2)
		if len(first) != 1 || len(second)+len(third) != 0 {
			t.Fatalf("how many compute: %d, %d, %d", len(first), len(second), len(third))
		}
		conns[1].Close()
		synctest.Wait()
		if len(second) != 1 || <-second == nil || len(third) != 0 {
			t.Error("the closed one was to leave the row, without a place")
		}
		go conns[0].Write([]byte{2}) // an answer: it waits for the network now
		synctest.Wait()
		if len(third) != 1 || <-third != nil {
			t.Error("the third one was to have its turn")
		}
		l.Follow(conns[2], http.StateActive)
		if len(l.pace) != 0 {
			t.Error("who has sent a request computes no handshake")
		}
		end(append(conns, far...)...)
		synctest.Wait()
	})
}

// TestOpenBound: half of the files, shared by the ports, and never more than maxOpen.
func TestOpenBound(t *testing.T) {
	for _, c := range []struct {
		files uint64
		ports int
		want  int
	}{{0, 1, maxOpen}, {1 << 40, 3, maxOpen}, {1024, 1, 512}, {1024, 3, 170}, {1, 1, 1}, {2 * maxOpen, 1, maxOpen}, {2*maxOpen - 2, 1, maxOpen - 1}} {
		if got := openBound(c.files, c.ports); got != c.want {
			t.Errorf("%d files, %d ports: %d, not %d", c.files, c.ports, got, c.want)
		}
	}
	if openFiles() == 0 {
		t.Skip("this system does not say how many files there may be")
	}
}

// TestAddress: a customer of IPv6 is one address.
func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"10.0.0.1:7": "10.0.0.1", "[::ffff:10.0.0.1]:7": "10.0.0.1", "[2001:db8:1:2:3::4]:7": "2001:db8:1:2::/64", "[fe80::1%eth0]:7": "fe80::/64", "pipe": "pipe",
	} {
		if got := addressOf(addr(given)); got != want {
			t.Errorf("%s: %s, not %s", given, got, want)
		}
	}
}

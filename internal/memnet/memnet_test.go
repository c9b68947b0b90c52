package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f with a network in virtual time and closes it at the end.
func bubble(t *testing.T, f func(t *testing.T, n *memnet.Net)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		defer n.Close()
		f(t, n)
	})
}

// pair connects a to b.
func pair(t *testing.T, n *memnet.Net, a, b string) (client, server net.Conn) {
	t.Helper()
	l := n.Node(b).Listen(mux.Raft)
	client, err := n.Node(a).Dial(t.Context(), b, mux.Raft)
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if n, err := c.Write([]byte(s)); err != nil || n != len(s) {
		t.Fatalf("write %q: %d, %v", s, n, err)
	}
}

func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v; want %v", what, err, want)
	}
}

// silent checks that nothing is read within a virtual minute.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(make([]byte, 1))
	if n != 0 {
		t.Fatal("read something")
	}
	wantErr(t, "read", err, os.ErrDeadlineExceeded)
	var ne net.Error
	if !errors.As(err, &ne) || !ne.Timeout() {
		t.Fatalf("%v is not a timeout", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func TestConnection(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		if c.LocalAddr().String() != "a" || c.RemoteAddr().String() != "b" || s.RemoteAddr().String() != "a" {
			t.Fatal("addresses", c.LocalAddr(), c.RemoteAddr(), s.RemoteAddr())
		}
		write(t, c, "ping")
		read(t, s, "ping")
		write(t, s, "po")
		write(t, s, "ng")
		s.Close()
		s.Close()
		read(t, c, "pong")
		_, err := c.Read(make([]byte, 1))
		wantErr(t, "read after the end", err, io.EOF)
		_, err = c.Write([]byte("x"))
		wantErr(t, "write to a closed peer", err, syscall.EPIPE)
		_, err = s.Read(make([]byte, 1))
		wantErr(t, "read of a closed end", err, net.ErrClosed)
		c.Close()
		if n.Conns() != 0 {
			t.Fatal("connections left", n.Conns())
		}
	})
}

func TestCloseWakesReader(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, _ := pair(t, n, "a", "b")
		done := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		c.Close()
		wantErr(t, "read", <-done, net.ErrClosed)
	})
}

func TestProtocolsAreApart(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		n.Node("b").Listen(mux.Raft)
		_, err := n.Node("a").Dial(t.Context(), "b", mux.Blob)
		wantErr(t, "dial where nobody listens", err, syscall.ECONNREFUSED)
		_, err = n.Node("a").Dial(t.Context(), "nobody", mux.Blob)
		wantErr(t, "dial to nobody", err, syscall.ECONNREFUSED)
	})
}

func TestCutHoldsAndHealDelivers(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		n.Cut("b", "a")
		write(t, c, "one ")
		write(t, s, "back")
		silent(t, s)
		silent(t, c)
		write(t, c, "two")
		c.Close()
		silent(t, s) // not even the end is heard
		n.Heal("a", "b")
		read(t, s, "one two")
		_, err := s.Read(make([]byte, 1))
		wantErr(t, "read", err, io.EOF)
	})
}

func TestCutOneWay(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		n.CutOneWay("a", "b")
		write(t, c, "x")
		silent(t, s)
		write(t, s, "y")
		read(t, c, "y")
		for _, d := range [][2]string{{"a", "b"}, {"b", "a"}} {
			n.Node(d[1]).Listen(mux.Raft)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := n.Node(d[0]).Dial(ctx, d[1], mux.Raft)
			wantErr(t, "dial over half a link", err, context.DeadlineExceeded)
			cancel()
		}
		n.HealAll()
		read(t, s, "x")
	})
}

func TestIsolate(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		self, selfServer := pair(t, n, "a", "a")
		other, otherServer := pair(t, n, "b", "c")
		n.Isolate("a")
		write(t, c, "x")
		silent(t, s)
		write(t, self, "me")
		read(t, selfServer, "me")
		write(t, other, "on")
		read(t, otherServer, "on")
		n.Heal("a", "b") // another fault
		silent(t, s)
		n.Rejoin("a")
		read(t, s, "x")
	})
}

func TestDialWaitsForHeal(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		n.Node("b").Listen(mux.Raft)
		n.Cut("a", "b")
		start := time.Now()
		time.AfterFunc(time.Minute, func() { n.Heal("a", "b") })
		c, err := n.Node("a").Dial(t.Context(), "b", mux.Raft)
		if err != nil || time.Since(start) != time.Minute {
			t.Fatal(err, time.Since(start))
		}
		c.Close()
	})
}

func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		n.Delay("a", "b", 100*time.Millisecond)
		start := time.Now()
		c, s := pair(t, n, "a", "b")
		if d := time.Since(start); d != 200*time.Millisecond {
			t.Fatal("handshake took", d)
		}
		write(t, c, "slow")
		n.Delay("a", "b", 0)
		write(t, c, "fast")
		read(t, s, "slowfast")
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Fatal("arrived after", d)
		}
		n.Delay("a", "b", time.Second)
		c.Close()
		_, err := s.Read(make([]byte, 1))
		wantErr(t, "read", err, io.EOF)
		if d := time.Since(start); d != 1300*time.Millisecond {
			t.Fatal("the end arrived after", d)
		}
	})
}

func TestDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		time.AfterFunc(time.Second, func() { s.SetReadDeadline(time.Now()) }) // wakes a reader without a deadline
		_, err := s.Read(make([]byte, 1))
		wantErr(t, "read", err, os.ErrDeadlineExceeded)
		s.SetDeadline(time.Time{})
		write(t, c, "x")
		read(t, s, "x")

		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB: more than a connection buffers
		c.SetWriteDeadline(time.Now().Add(time.Second))
		k, err := c.Write(big)
		wantErr(t, "write to nobody who reads", err, os.ErrDeadlineExceeded)
		if k == 0 || k == len(big) {
			t.Fatal("wrote", k)
		}
		read(t, s, string(big[:k]))
		c.SetWriteDeadline(time.Time{})
		done := make(chan error)
		go func() { // a slow reader gets all of it
			b := make([]byte, len(big))
			_, err := io.ReadFull(s, b)
			if !bytes.Equal(b, big) {
				err = errors.Join(err, errors.New("other bytes"))
			}
			done <- err
		}()
		if k, err := c.Write(big); k != len(big) || err != nil {
			t.Fatal(k, err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		other, otherServer := pair(t, n, "a", "c")
		n.Cut("a", "b")
		n.Reset("b", "a")
		_, err := c.Read(make([]byte, 1))
		wantErr(t, "read", err, syscall.ECONNRESET)
		_, err = s.Write([]byte("x"))
		wantErr(t, "write", err, syscall.ECONNRESET)
		write(t, other, "x")
		read(t, otherServer, "x")
	})
}

func TestCrashAndRestart(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, s := pair(t, n, "a", "b")
		far, _ := pair(t, n, "c", "b")
		l := n.Node("b").Listen(mux.Raft)
		n.Cut("c", "b")
		write(t, s, "last words")
		n.Crash("b")
		read(t, c, "last words")
		_, err := c.Read(make([]byte, 1))
		wantErr(t, "read", err, syscall.ECONNRESET)
		_, err = l.Accept()
		wantErr(t, "accept", err, net.ErrClosed)
		_, err = n.Node("a").Dial(t.Context(), "b", mux.Raft)
		wantErr(t, "dial", err, syscall.ECONNREFUSED)
		silent(t, far) // cut off: does not know yet
		write(t, far, "x")
		n.HealAll()
		_, err = far.Read(make([]byte, 1))
		wantErr(t, "read", err, syscall.ECONNRESET)

		again, server := pair(t, n, "a", "b")
		write(t, again, "hello")
		read(t, server, "hello")
	})
}

func TestListenerCloseResetsBacklog(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		l := n.Node("b").Listen(mux.Raft)
		c, err := n.Node("a").Dial(t.Context(), "b", mux.Raft)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = c.Read(make([]byte, 1))
		wantErr(t, "read", err, syscall.ECONNRESET)
	})
}

func TestNetCloseEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		c, _ := pair(t, n, "a", "b")
		n.Cut("a", "b")
		errs := make(chan error)
		go func() { _, err := c.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := n.Node("a").Dial(t.Context(), "b", mux.Raft); errs <- err }()
		go func() { _, err := n.Node("b").Listen(mux.Raft).Accept(); errs <- err }()
		synctest.Wait()
		n.Close()
		n.Close()
		for range 3 {
			wantErr(t, "a blocked call", <-errs, net.ErrClosed)
		}
		if n.Conns() != 0 {
			t.Fatal("connections left", n.Conns())
		}
	})
}

// TestLossy: the same seed breaks connections at the same writes; both kinds of loss happen.
func TestLossy(t *testing.T) {
	run := func(seed uint64) (trace string) {
		bubble(t, func(t *testing.T, n *memnet.Net) {
			n.Lossy(seed, 4)
			var arrived, lost int
			for i := range 200 {
				c, s := pair(t, n, "a", "b")
				_, err := c.Write([]byte("x"))
				if err == nil {
					read(t, s, "x")
					c.Close()
				} else {
					wantErr(t, "write", err, syscall.ECONNRESET)
					k, _ := s.Read(make([]byte, 1))
					trace += fmt.Sprint(i, ":", k, " ")
					if k == 1 {
						arrived++
					} else {
						lost++
					}
				}
				s.Close()
			}
			if arrived < 5 || lost < 5 {
				t.Fatal("arrived and lost:", arrived, lost)
			}
		})
		return trace
	}
	if a, b := run(1), run(1); a != b {
		t.Fatalf("one seed, two traces:\n%s\n%s", a, b)
	}
	if run(1) == run(2) {
		t.Fatal("two seeds, one trace")
	}
}

package trust

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// port serves a node port whose protocols echo.
func port(t *testing.T, k *Keys) *mux.Mux {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := mux.New(ln, k)
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.Serve() })
	for p := mux.Raft; p <= mux.Accept; p++ {
		l := m.Listen(p)
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				wg.Go(func() { _, _ = io.Copy(c, c); c.Close() })
			}
		})
	}
	t.Cleanup(func() { m.Close(); wg.Wait() })
	return m
}

// echoes reports whether a dialer reaches a protocol.
func echoes(t *testing.T, guard mux.Guard, m *mux.Mux, p mux.Protocol) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := mux.Dialer{Guard: guard}.Dial(ctx, m.Addr().String(), p)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		return false
	}
	got := make([]byte, 5)
	_, err = io.ReadFull(c, got)
	return err == nil && string(got) == "hello"
}

// TestPortByRole: a node may speak every protocol of the port, a worker those of workers, and nobody else any (SPEC A2, A11).
func TestPortByRole(t *testing.T) {
	s := Draw()
	secret := file(t, s.Text())
	m := port(t, keys(t, mux.Node, "n1", secret))
	worker := keys(t, mux.Worker, "w1", file(t, s.Worker([]Secret{s}).Text()))
	for p := mux.Raft; p <= mux.Accept; p++ {
		if !echoes(t, keys(t, mux.Node, "n2", secret), m, p) {
			t.Errorf("a node may not speak protocol %d", p)
		}
		if got, want := echoes(t, worker, m, p), p == mux.Stream || p == mux.Blob; got != want {
			t.Errorf("a worker may speak protocol %d: %v", p, got)
		}
		if echoes(t, keys(t, mux.Node, "n3", file(t, Draw().Text())), m, p) || echoes(t, nil, m, p) {
			t.Errorf("a stranger may speak protocol %d", p)
		}
	}
	if m.Refused() < 12 {
		t.Errorf("%d refusals are counted", m.Refused())
	}
}

// TestPortOfStrangers: whatever a stranger sends, the port hangs up, and serves others meanwhile.
func TestPortOfStrangers(t *testing.T) {
	s := Draw()
	secret := file(t, s.Text())
	m := port(t, keys(t, mux.Node, "n1", secret))
	good := keys(t, mux.Node, "n2", secret)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", m.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	hungUp := func(what string, c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the port does not hang up", what)
		}
	}
	silent := map[string]net.Conn{}
	for what, text := range map[string]string{
		"a protocol byte": "\x01", "HTTP": "GET / HTTP/1.1\r\n\r\n", "half a hello": "\x16\x03\x01\x02\x00\x01", "zeros": strings.Repeat("\x00", 4096),
		"a long record": "\x16\x03\x01\xff\xff" + strings.Repeat("a", 1<<16),
	} {
		c := dial()
		_, _ = c.Write([]byte(text))
		silent[what] = c
	}
	own := *good.now.Load()
	for what, cfg := range map[string]*tls.Config{
		"TLS 1.2":          {MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own.own}, NextProtos: []string{protocol}},
		"no certificate":   {NextProtos: []string{protocol}},
		"another protocol": {Certificates: []tls.Certificate{own.own}, NextProtos: []string{"h2"}},
		"no protocol":      {Certificates: []tls.Certificate{own.own}},
	} {
		cfg.InsecureSkipVerify = true
		c := tls.Client(dial(), cfg)
		if c.HandshakeContext(t.Context()) == nil { // in TLS 1.3 the client is done before the server has seen its certificate
			_, _ = c.Write([]byte{byte(mux.Raft)})
			_, _ = c.Write([]byte("hello"))
			silent[what] = c
		}
	}
	for what, c := range silent {
		hungUp(what, c)
	}
	if n := m.Refused(); n < 8 {
		t.Errorf("%d refusals are counted", n)
	}
	// Many who say nothing keep nobody out.
	for range 1500 {
		dial()
	}
	if !echoes(t, good, m, mux.Raft) {
		t.Error("silent strangers keep a node out")
	}
}

// TestReplayedConnection: who has captured all that a node sent over a connection, and sends it again, reaches no protocol (SPEC A11).
func TestReplayedConnection(t *testing.T) {
	secret := file(t, Draw().Text())
	m := port(t, keys(t, mux.Node, "n1", secret))
	tap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	captured := make(chan []byte, 1)
	go func() {
		var sent bytes.Buffer
		defer func() { captured <- sent.Bytes() }()
		from, err := tap.Accept()
		if err != nil {
			return
		}
		defer from.Close()
		to, err := net.Dial("tcp", m.Addr().String())
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(from, to) }()
		_, _ = io.Copy(io.MultiWriter(to, &sent), from)
	}()
	c, err := mux.Dialer{Guard: keys(t, mux.Node, "n2", secret)}.Dial(t.Context(), tap.Addr().String(), mux.Raft)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	sent := <-captured
	if len(sent) < 500 {
		t.Fatalf("%d bytes are captured", len(sent))
	}
	before := m.Refused()
	again, err := net.Dial("tcp", m.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Write(sent); err != nil {
		t.Fatal(err)
	}
	_ = again.SetReadDeadline(time.Now().Add(time.Minute))
	got, err := io.ReadAll(again)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Error("the port does not hang up")
	}
	if bytes.Contains(got, []byte("hello")) || m.Refused() != before+1 {
		t.Errorf("the port takes a replayed connection: %d bytes, %d refusals", len(got), m.Refused()-before)
	}
}

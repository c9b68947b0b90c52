package blob

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// by is a connection whose other end has proven who it is.
type by struct {
	net.Conn
	who mux.Principal
}

// Principal implements mux.Proven.
func (c by) Principal() mux.Principal { return c.who }

// Server implements mux.Guard: everybody who dials is who.
func (c by) Server(_ context.Context, n net.Conn) (net.Conn, error) { return by{n, c.who}, nil }

// Client implements mux.Guard.
func (c by) Client(_ context.Context, n net.Conn) (net.Conn, error) { return n, nil }

// TestRoles: a worker gets files and puts them by way of a node. What else nodes ask each other ends its connection, before a byte of a file is
// read. The port counts each refused request, and logs one a minute of an address (SPEC A2).
func TestRoles(t *testing.T) {
	t.Run("node", func(t *testing.T) { testRole(t, mux.Node) })
	t.Run("worker", func(t *testing.T) { testRole(t, mux.Worker) })
}

func testRole(t *testing.T, role mux.Role) {
	s, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	name, err := s.Put(t.Context(), []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := hex.DecodeString(name)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := mux.New(ln, by{who: mux.Principal{Role: role, ID: "w1"}})
	var log bytes.Buffer
	m.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	ended := make(chan error, 2)
	go func() { ended <- m.Serve() }()
	go func() { ended <- s.Serve(m.Listen(mux.Blob)) }()
	zero := make([]byte, 8)
	for op, rest := range map[byte][]byte{
		opGet: nil, opGetFrom: zero, opPutFor: zero, opHas: nil, opHasAt: zero, opPut: zero, opPutAt: make([]byte, 16),
	} {
		c, err := m.Dial(t.Context(), m.Addr().String(), mux.Blob)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, wrote := c.Write(append(append([]byte{op}, digest...), rest...))
		_, read := c.Read(make([]byte, 1))
		c.Close()
		if want := role == mux.Node || op == opGet || op == opGetFrom || op == opPutFor; (read == nil) != want {
			t.Errorf("request %d: answered %t (%v, %v)", op, read == nil, wrote, read)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.Close()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	refused, lines := int64(0), 0
	if role == mux.Worker {
		refused, lines = 4, 1
	}
	if got := m.Refused(); got != refused {
		t.Errorf("%d refusals are counted, not %d", got, refused)
	}
	if n := bytes.Count(log.Bytes(), []byte("which is for nodes")); n != lines || n != bytes.Count(log.Bytes(), []byte("\n")) {
		t.Errorf("%d lines, not %d: %s", n, lines, &log)
	}
}

package blob

import (
	"bytes"
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

// TestRoles: a worker gets files and puts them by way of a node. What else nodes ask each other ends its connection, before a byte of a file is
// read, and is logged once (SPEC A2).
func TestRoles(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(Config{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
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
	zero := make([]byte, 8)
	for _, role := range []mux.Role{mux.Node, mux.Worker} {
		for op, rest := range map[byte][]byte{
			opGet: nil, opGetFrom: zero, opPutFor: zero, opHas: nil, opHasAt: zero, opPut: zero, opPutAt: append(zero, zero...),
		} {
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() { defer close(done); s.serve(by{far, mux.Principal{Role: role, ID: "w1"}}) }()
			_ = near.SetDeadline(time.Now().Add(30 * time.Second))
			_, wrote := near.Write(append([]byte{op}, digest...))
			if wrote == nil && len(rest) > 0 {
				_, wrote = near.Write(rest)
			}
			_, read := near.Read(make([]byte, 1))
			answered := wrote == nil && read == nil
			if want := role == mux.Node || op == opGet || op == opGetFrom || op == opPutFor; answered != want {
				t.Errorf("%s asks %d: answered %t (%v, %v)", role, op, answered, wrote, read)
			}
			near.Close()
			<-done
		}
	}
	if n := bytes.Count(log.Bytes(), []byte("refused a worker")); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

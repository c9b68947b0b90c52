package mux

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T) *Mux {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := New(ln, nil)
	done := make(chan error, 1)
	go func() { done <- m.Serve() }()
	t.Cleanup(func() {
		m.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve after Close: %v", err)
		}
	})
	return m
}

func TestFirstByteSelects(t *testing.T) {
	m := serve(t)
	raft, blob := m.Listen(Raft), m.Listen(Blob)
	for _, c := range []struct {
		p Protocol
		l net.Listener
	}{{Blob, blob}, {Raft, raft}, {Blob, blob}} {
		out, err := m.Dial(t.Context(), m.Addr().String(), c.p)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := out.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		in, err := c.l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		got := make([]byte, 5)
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, []byte("hello")) {
			t.Fatalf("protocol %d: read %q, %v: the selecting byte must be gone and nothing else", c.p, got, err)
		}
	}
}

func TestUnknownProtocolIsClosed(t *testing.T) {
	m := serve(t)
	c, err := m.Dial(t.Context(), m.Addr().String(), Protocol(200))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatal("a connection of an unknown protocol stays open")
	}
}

func TestCloseReleasesEverybody(t *testing.T) {
	m := serve(t)
	l := m.Listen(Stream)
	silent, err := net.Dial("tcp", m.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	done := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	m.Close()
	m.Close()
	if err := <-done; err == nil {
		t.Fatal("Accept returned a connection after Close")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenIsOnePerProtocol(t *testing.T) {
	m := serve(t)
	if m.Listen(Raft) != m.Listen(Raft) || m.Listen(Raft) == m.Listen(Blob) {
		t.Fatal("Listen does not give each protocol one listener")
	}
}

// TestRefused: a port that nobody listens on any more says so: what followers know of a leader whose process has ended rests on it.
func TestRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := (Dialer{}).Dial(t.Context(), ln.Addr().String(), Propose); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
}

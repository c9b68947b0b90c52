package mux

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deaf lets the kernel drop every packet that comes for a connection, as a partition does that drops packets.
func deaf(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop[0]})
	})
	if err := errors.Join(err, e); err != nil {
		t.Skip("SKIPPED, NOT SHOWN: this kernel drops no packets for a test: ", err)
	}
}

// TestSilentPeer: a connection to a peer whose packets are dropped ends by itself, for the one that sends and for the one
// that only waits, whoever dialed (SPEC C10). Without that the test would wait for a quarter of an hour.
func TestSilentPeer(t *testing.T) {
	for name, waits := range map[string]bool{"the dialer sends": false, "the dialer waits": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan net.Conn, 1)
			go func() {
				c, err := ln.Accept()
				if err == nil {
					accepted <- c
				}
			}()
			c, err := Dialer{}.Dial(t.Context(), ln.Addr().String(), Raft)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			peer := <-accepted
			ln.Close()
			defer peer.Close()
			if _, err := io.ReadFull(peer, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			deaf(t, peer)
			ends(t, c, waits)
		})
	}
	t.Run("an accepted connection sends", func(t *testing.T) {
		t.Parallel()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		m := New(ln, nil)
		l := m.Listen(Raft)
		served := make(chan error, 1)
		go func() { served <- m.Serve() }()
		defer func() {
			if err := errors.Join(m.Close(), <-served); err != nil {
				t.Error(err)
			}
		}()
		peer, err := net.Dial("tcp", ln.Addr().String()) // which does not end in silence by itself
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		if _, err := peer.Write([]byte{byte(Raft)}); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		deaf(t, peer)
		ends(t, c, false)
	})
}

// ends demands that a connection ends with the kernel's own time-out, long before a minute is over.
func ends(t *testing.T, c net.Conn, waits bool) {
	t.Helper()
	if !waits {
		if _, err := c.Write([]byte("a request")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, unix.ETIMEDOUT) {
		t.Errorf("the connection: %v", err)
	}
}

package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed holds stores on one network. Each has an address.
type bed struct {
	t   *testing.T
	net *memnet.Net
}

// inBubble runs f in virtual time: timeouts and delays cost nothing, and at the end no goroutine may be left.
func inBubble(t *testing.T, f func(t *testing.T, b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, net: memnet.New()}
		t.Cleanup(b.net.Close)
		f(t, b)
	})
}

func (b *bed) store(addr string) *Store {
	b.t.Helper()
	node := b.net.Node(addr)
	s, err := Open(Config{Dir: filepath.Join(b.t.TempDir(), addr), Net: node})
	if err != nil {
		b.t.Fatal(err)
	}
	served := make(chan error, 1)
	ln := node.Listen(mux.Blob)
	go func() { served <- s.Serve(ln) }()
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Errorf("close %s: %v", addr, err)
		}
		if err := <-served; err != nil {
			b.t.Errorf("serve %s: %v", addr, err)
		}
	})
	return s
}

func put(t *testing.T, s *Store, data string) string {
	t.Helper()
	d, err := s.Put(t.Context(), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// putAll puts data on s and peers, until need of them have it.
func putAll(ctx context.Context, s *Store, data string, peers []string, need int) (string, error) {
	b, err := s.StageBytes([]byte(data))
	if err != nil {
		return "", err
	}
	defer b.Close()
	return b.Digest, s.Spread(ctx, b, Spread{Index: 1, Peers: peers, Need: need, Self: true})
}

func TestGetFetchesVerifiesAndKeeps(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		d := put(t, s1, "hello")
		if want := "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; d != want {
			t.Fatalf("digest %s, want %s", d, want)
		}
		if s2.Has(d) {
			t.Fatal("b has it already")
		}
		data, err := s2.Get(t.Context(), d, []string{"nobody", "a"})
		if err != nil || string(data) != "hello" {
			t.Fatalf("got %q, %v", data, err)
		}
		if !s2.Has(d) {
			t.Fatal("b did not keep it")
		}
		if data, err = s2.Get(t.Context(), d, nil); err != nil || string(data) != "hello" {
			t.Fatalf("from disk: got %q, %v", data, err)
		}
	})
}

func TestMissing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1 := b.store("a")
		b.store("b")
		absent := Digest([]byte("absent"))
		if _, err := s1.Get(t.Context(), absent, []string{"b"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
		for _, d := range []string{"", "../../etc/passwd", strings.Repeat("A", 64), absent[:63]} {
			if _, err := s1.Get(t.Context(), d, []string{"b"}); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: got %v", d, err)
			}
			if s1.Has(d) {
				t.Errorf("has %q", d)
			}
		}
	})
}

func TestCorruptFileIsRemovedAndFetchedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		d := put(t, s1, "precious bytes")
		if _, err := s2.Get(t.Context(), d, []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s1.path(d), []byte("precious"), 0o600); err != nil { // torn
			t.Fatal(err)
		}
		data, err := s1.Get(t.Context(), d, []string{"b"})
		if err != nil || string(data) != "precious bytes" {
			t.Fatalf("got %q, %v", data, err)
		}
		if kept, err := os.ReadFile(s1.path(d)); err != nil || string(kept) != "precious bytes" {
			t.Fatalf("on disk: %q, %v", kept, err)
		}
		// Nor is a corrupt file ever served.
		if err := os.WriteFile(s1.path(d), []byte("evil"), 0o600); err != nil {
			t.Fatal(err)
		}
		s3 := b.store("c")
		if _, err := s3.Get(t.Context(), d, []string{"a"}); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
		if s1.Has(d) {
			t.Error("the corrupt file is still there")
		}
	})
}

func TestPutRepairsACorruptFile(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s := b.store("a")
		d := put(t, s, "data")
		if err := os.WriteFile(s.path(d), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		put(t, s, "data")
		if kept, err := os.ReadFile(s.path(d)); err != nil || string(kept) != "data" {
			t.Fatalf("on disk: %q, %v", kept, err)
		}
	})
}

// peer answers on every connection with what talk writes after one request to get a file was read.
func (b *bed) peer(addr string, talk func(c net.Conn, offset uint64)) {
	ln := b.net.Node(addr).Listen(mux.Blob)
	var wg sync.WaitGroup
	b.t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				var head [41]byte
				if _, err := io.ReadFull(c, head[:]); err == nil && head[0] == opGetFrom {
					talk(c, binary.BigEndian.Uint64(head[33:]))
				}
			})
		}
	})
}

// liar returns a peer that answers every get with the same bytes.
func (b *bed) liar(addr string, data []byte) {
	b.peer(addr, func(c net.Conn, offset uint64) {
		_, _ = c.Write(append([]byte{statusOK}, number(uint64(len(data)))...))
		_, _ = c.Write(data[min(offset, uint64(len(data))):])
	})
}

func TestLyingPeerIsPassedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		honest, s := b.store("a"), b.store("b")
		b.liar("liar", []byte("something else"))
		d := put(t, honest, "truth")
		if _, err := s.Get(t.Context(), d, []string{"liar"}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("from the liar alone: %v", err)
		}
		if s.Has(d) {
			t.Error("kept the lie")
		}
		for range 8 { // because the order of peers is random
			if data, err := s.Get(t.Context(), d, []string{"liar", "a"}); err != nil || string(data) != "truth" {
				t.Fatalf("got %q, %v", data, err)
			}
			if err := os.Remove(s.path(d)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestHangingPeerIsPassedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		b.store("c")
		d := put(t, s1, "x")
		b.net.Cut("b", "c")
		if data, err := s2.Get(t.Context(), d, []string{"c", "a"}); err != nil || string(data) != "x" {
			t.Fatalf("got %q, %v", data, err)
		}
	})
}

func TestPutAll(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2, s3 := b.store("a"), b.store("b"), b.store("c")
		d, err := putAll(t.Context(), s1, "one", []string{"b", "c"}, 3)
		if err != nil || !s1.Has(d) || !s2.Has(d) || !s3.Has(d) {
			t.Fatalf("%v; a %v b %v c %v", err, s1.Has(d), s2.Has(d), s3.Has(d))
		}
		b.net.Isolate("c")
		if _, err = putAll(t.Context(), s1, "two", []string{"b", "c"}, 2); err != nil {
			t.Fatalf("a majority is enough: %v", err)
		}
		if _, err = putAll(t.Context(), s1, "three", []string{"b", "c"}, 3); !errors.Is(err, ErrTooFew) {
			t.Fatalf("got %v", err)
		}
		if _, err = putAll(t.Context(), s1, "four", nil, 1); err != nil {
			t.Fatalf("alone: %v", err)
		}
	})
}

func TestPutAllEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s := b.store("a")
		b.store("b")
		b.net.Cut("a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := putAll(ctx, s, "x", []string{"b"}, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestTooLarge(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		s1.cfg.MaxBytes, s2.cfg.MaxBytes = 4, 8
		if _, err := s1.Put(t.Context(), []byte("12345")); !errors.Is(err, ErrTooLarge) {
			t.Errorf("put: %v", err)
		}
		d := put(t, s2, "12345678")
		if _, err := s1.Get(t.Context(), d, []string{"b"}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("get: %v", err)
		}
		if _, err := putAll(t.Context(), s2, "1234567", []string{"a"}, 2); !errors.Is(err, ErrTooFew) {
			t.Errorf("put at a peer that takes less: %v", err)
		}
	})
}

func TestDiskErrorIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		d := Digest([]byte("x"))
		// A file stands where the folder should be. This also works as root, for whom permissions do not count.
		for _, s := range []*Store{s1, s2} {
			if err := os.WriteFile(filepath.Join(s.cfg.Dir, d[:2]), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s1.Put(t.Context(), []byte("x")); err == nil {
			t.Error("put: no error")
		}
		s3 := b.store("c")
		if _, err := putAll(t.Context(), s3, "x", []string{"b"}, 2); !errors.Is(err, ErrTooFew) {
			t.Errorf("the peer's disk: %v", err)
		}
		put(t, s3, "x")
		if data, err := s1.Get(t.Context(), d, []string{"c"}); err != nil || string(data) != "x" {
			t.Errorf("a fetched file is of use although it cannot be kept: %q, %v", data, err)
		}
		left, err := os.ReadDir(filepath.Join(s1.cfg.Dir, tmpName))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestOpenRemovesUnfinishedWrites(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, tmpName), 0o700); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, tmpName, "torn")
	if err := os.WriteFile(torn, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(torn); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}

// counter counts dials.
type counter struct {
	Dialer
	mu    sync.Mutex
	dials int
}

func (c *counter) Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error) {
	c.mu.Lock()
	c.dials++
	c.mu.Unlock()
	return c.Dialer.Dial(ctx, addr, p)
}

func TestConcurrentGetsShareOneFetch(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		b.net.Delay("a", "b", 10*time.Millisecond)
		dials := &counter{Dialer: s2.cfg.Net}
		s2.cfg.Net = dials
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
		d := put(t, s1, string(big))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				data, err := s2.Get(t.Context(), d, []string{"a"})
				if err != nil || !bytes.Equal(data, big) {
					t.Errorf("%d bytes, %v", len(data), err)
				}
			})
		}
		// A caller that gives up does not end the fetch of the others.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s2.Get(ctx, d, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wg.Wait()
		if dials.dials != 1 {
			t.Errorf("%d fetches", dials.dials)
		}
	})
}

func TestCloseEndsFetches(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s := b.store("a")
		b.store("b")
		b.net.Cut("a", "b")
		got := make(chan error)
		go func() {
			_, err := s.Get(context.Background(), Digest([]byte("x")), []string{"b"})
			got <- err
		}()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-got; err == nil {
			t.Error("no error")
		}
		if _, err := s.Get(context.Background(), Digest([]byte("x")), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

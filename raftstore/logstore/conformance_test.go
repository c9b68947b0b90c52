package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LOGSTORE_CHILD"); dir != "" {
		childMain(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// fileBytes is small, so that the tests' logs have many files.
const fileBytes = 64 << 10

// eachKind runs the test f of the suite with every format.
func eachKind(t *testing.T, f func(t *testing.T, s *suite)) {
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			s := &suite{t: t, dir: t.TempDir(), kind: kind}
			s.open()
			defer func() { s.close() }()
			f(t, s)
		})
	}
}

// suite is a store under test.
type suite struct {
	t    *testing.T
	dir  string
	kind Kind
	Store
}

func (s *suite) options() Options {
	return Options{SegmentBytes: fileBytes, OnError: func(err error) { s.t.Errorf("behind the back: %v", err) }}
}

func (s *suite) open() {
	s.t.Helper()
	x, err := Open(s.dir, s.kind, s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	s.Store = x
}

func (s *suite) close() {
	s.t.Helper()
	if s.Store == nil {
		return
	}
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.Store = nil
}

func (s *suite) reopen() {
	s.t.Helper()
	s.close()
	s.open()
}

// want returns entry i of a term. The content follows from both numbers; it has up to 2 KiB and mostly less. Some
// contents look like the bytes that raft-wal puts around entries, so that a reader in the wrong place of a file finds
// something.
func want(i, term uint64) *raft.Log {
	rng := rand.New(rand.NewPCG(i, term))
	size := rng.IntN(256) >> rng.IntN(6)
	data := bytes.Repeat([]byte(fmt.Sprintf("%d/%d ", i, term)), 1+size)
	if i%2 == 0 {
		data = bytes.Repeat([]byte{0}, rng.IntN(8))
		for range size {
			data = append(data, byte(1+rng.IntN(3)), 0, 0, 0, byte(rng.IntN(20)), 0, 0, 0)
		}
	}
	e := &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: data, AppendedAt: time.Unix(int64(i), 5).UTC()}
	if i%7 == 0 {
		e.Extensions = []byte("more")
	}
	if i%11 == 0 {
		e.Type, e.Data = raft.LogNoop, nil
	}
	return e
}

func (s *suite) append(first, last, term uint64) {
	s.t.Helper()
	var es []*raft.Log
	for i := first; i <= last; i++ {
		es = append(es, want(i, term))
	}
	if err := s.StoreLogs(es); err != nil {
		s.t.Fatal(err)
	}
}

func (s *suite) remove(first, last uint64) {
	s.t.Helper()
	if err := s.DeleteRange(first, last); err != nil {
		s.t.Fatal(err)
	}
}

// holds demands exactly these entries, with the terms that termOf returns.
func (s *suite) holds(first, last uint64, termOf func(i uint64) uint64) {
	s.t.Helper()
	f, l, err := bounds(s)
	if err != nil || f != first || l != last {
		s.t.Fatalf("entries %d to %d (%v), want %d to %d", f, l, err, first, last)
	}
	for i := first; i <= last && i > 0; i++ {
		s.check(i, termOf(i))
	}
	for _, i := range []uint64{first - 1, last + 1} {
		if err := s.GetLog(i, &raft.Log{}); err != raft.ErrLogNotFound { //nolint:errorlint // raft compares with == too
			s.t.Fatalf("entry %d: %v", i, err)
		}
	}
}

func (s *suite) check(i, term uint64) {
	s.t.Helper()
	var got raft.Log
	if err := s.GetLog(i, &got); err != nil {
		s.t.Fatalf("entry %d: %v", i, err)
	}
	w := want(i, term)
	if got.Index != w.Index || got.Term != w.Term || got.Type != w.Type || !bytes.Equal(got.Data, w.Data) ||
		!bytes.Equal(got.Extensions, w.Extensions) || !got.AppendedAt.Equal(w.AppendedAt) {
		s.t.Fatalf("entry %d is %+v, want %+v", i, got, w)
	}
}

func always(term uint64) func(uint64) uint64 { return func(uint64) uint64 { return term } }

func TestAppend(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		s.holds(0, 0, nil)
		if err := s.StoreLog(want(1, 1)); err != nil {
			t.Fatal(err)
		}
		s.append(2, 100, 1)
		s.holds(1, 100, always(1))
		s.append(101, 600, 1) // they fill several files
		s.reopen()
		s.holds(1, 600, always(1))
		s.append(601, 602, 1)
		s.holds(1, 602, always(1))
	})
}

// TestBegin: a log can begin anywhere, behind a snapshot.
func TestBegin(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		s.append(1000, 1010, 3)
		s.holds(1000, 1010, always(3))
		s.reopen()
		s.holds(1000, 1010, always(3))
	})
}

func TestDeleteRange(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		eachKind(t, func(t *testing.T, s *suite) {
			again := func() {
				if reopen {
					s.reopen()
				}
			}
			s.append(1, 600, 1)
			s.remove(1, 150)
			again()
			s.holds(151, 600, always(1))
			s.remove(400, 600)
			again()
			s.holds(151, 399, always(1))
			s.append(400, 700, 2)
			again()
			later := func(i uint64) uint64 { return 1 + min(1, i/400) }
			s.holds(151, 700, later)
			s.remove(1, 100) // none of these entries is there
			s.remove(701, 800)
			again()
			s.holds(151, 700, later)
			s.remove(700, 700)
			s.remove(151, 151)
			again()
			s.holds(152, 699, later)
			s.remove(152, 699)
			again()
			s.holds(0, 0, nil)
			s.append(5000, 5005, 9) // behind a snapshot
			again()
			s.holds(5000, 5005, always(9))
			s.remove(5000, 5005)
			again()
			s.append(5003, 5004, 9) // before it
			s.holds(5003, 5004, always(9))
		})
	}
}

// TestDeletedIsGone: deleted entries are gone, even at the beginning of the file that is being written.
func TestDeletedIsGone(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		s.append(1, 9, 1)
		s.remove(1, 4)
		s.holds(5, 9, always(1))
	})
}

// TestRandom compares a store with a model of it, and opens the store again now and then.
func TestRandom(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		terms := map[uint64]uint64{}
		var first, last uint64
		next := uint64(1)
		for term := uint64(1); term < 60; term++ {
			switch n := rng.Uint64N(10); {
			case n < 5:
				if last == 0 {
					first = next + rng.Uint64N(3)
					last = first - 1
				}
				end := last + 1 + rng.Uint64N(60)
				s.append(last+1, end, term)
				for i := last + 1; i <= end; i++ {
					terms[i] = term
				}
				last = end
			case last == 0:
			case n < 7:
				cut := first + rng.Uint64N(last-first+1)
				s.remove(cut, last)
				last = cut - 1
			case n < 9:
				cut := first + rng.Uint64N(last-first+1)
				s.remove(first, cut)
				first = cut + 1
			default:
				s.reopen()
			}
			if first > last {
				next, first, last = last+1, 0, 0
			}
			s.holds(first, last, func(i uint64) uint64 { return terms[i] })
		}
	})
}

func TestVariables(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		if v, err := number(s, "CurrentTerm"); v != 0 || err != nil {
			t.Fatal(v, err)
		}
		if v, err := text(s, "LastVoteCand"); v != nil || err != nil {
			t.Fatal(v, err)
		}
		for _, v := range []uint64{7, 1 << 40} {
			if err := s.SetUint64([]byte("CurrentTerm"), v); err != nil {
				t.Fatal(err)
			}
			if err := s.Set([]byte("LastVoteCand"), []byte(fmt.Sprint("n", v))); err != nil {
				t.Fatal(err)
			}
			s.append(v, v, 1)
			s.remove(v, v)
			s.reopen()
			n, err := number(s, "CurrentTerm")
			c, err2 := text(s, "LastVoteCand")
			if err := errors.Join(err, err2); err != nil || n != v || string(c) != fmt.Sprint("n", v) {
				t.Fatal(n, string(c), err)
			}
		}
	})
}

// TestOtherKind: a directory keeps its format and its lock.
func TestOtherKind(t *testing.T) {
	eachKind(t, func(t *testing.T, s *suite) {
		other := map[Kind]Kind{Bolt: WAL, WAL: Bolt}[s.kind]
		for _, kind := range Kinds {
			if _, err := Open(s.dir, kind, s.options()); !errors.Is(err, ErrInUse) {
				t.Fatalf("opened twice: %v", err)
			}
		}
		s.append(1, 10, 1)
		s.close()
		_, err := Open(s.dir, other, s.options())
		if !errors.Is(err, ErrOtherKind) || !strings.Contains(err.Error(), "--log-store "+string(s.kind)) || !strings.Contains(err.Error(), "migrate-log --to "+string(other)) {
			t.Fatal(err)
		}
		s.open()
		s.holds(1, 10, always(1))
	})
}

// TestMissing: a store never starts with an empty log beside a full one or in the place of a full one.
func TestMissing(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir(), kind: WAL}
	s.open()
	s.append(1, 10, 1)
	s.close()
	at := func(name string) string { return filepath.Join(s.dir, name) }
	if err := os.Rename(at(walDir), at("aside")); err != nil {
		t.Fatal(err)
	}
	for _, kind := range Kinds {
		if _, err := Open(s.dir, kind, s.options()); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s without its files: %v", kind, err)
		}
	}
	if err := os.Rename(at("aside"), at(walDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(at(boltFile)); err != nil { // the pointer
		t.Fatal(err)
	}
	if _, err := Open(s.dir, Bolt, s.options()); !errors.Is(err, ErrOtherKind) {
		t.Fatal(err)
	}
	if err := os.WriteFile(at(boltFile), nil, 0o600); err != nil { // bolt takes it for a new file
		t.Fatal(err)
	}
	if _, err := Open(s.dir, Bolt, s.options()); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	if err := os.Remove(at(boltFile)); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.holds(1, 10, always(1))
	s.close()
	if kind, err := Find(s.dir); kind != WAL || err != nil {
		t.Fatal(kind, err)
	}
}

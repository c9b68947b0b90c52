package series

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/taskrt/taskrt/backup"
)

// TestNotVerified: what does not come back as it was written, and what may lack blobs, is never listed, and leaves nothing but blobs (SPEC C8).
func TestNotVerified(t *testing.T) {
	t.Parallel()
	flip := func(folder string) func(*memory, *state, *Job) {
		return func(m *memory, _ *state, _ *Job) {
			m.spoil = func(name string, b []byte) {
				if strings.Contains(name, "/"+folder) && len(b) > 0 {
					b[len(b)/2] ^= 1
				}
			}
		}
	}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		disturb func(*memory, *state, *Job)
		want    error
	}{
		"the state": {flip(states), backup.ErrDamaged},
		"the list":  {flip(lists), backup.ErrDamaged},
		"the hold":  {func(_ *memory, s *state, _ *Job) { s.held = boom }, boom},
		"a blob":    {func(_ *memory, s *state, _ *Job) { clear(s.files) }, nil},
		"a changed blob": {func(_ *memory, s *state, _ *Job) {
			for d := range s.files {
				s.files[d] = []byte("c")
			}
		}, nil},
		"the node": {func(_ *memory, _ *state, j *Job) { j.Progress = func(string, int64) error { return boom } }, boom},
		"the rate": {func(_ *memory, _ *state, j *Job) { j.Pace = func(context.Context, int) error { return boom } }, boom},
		"a state of another": {func(_ *memory, _ *state, j *Job) {
			j.Take = func(context.Context) (Source, error) { return liar{newState(t, "a", "b")}, nil }
		}, backup.ErrDamaged},
	} {
		m, s := newMemory(), newState(t, "a", "b")
		j := job(m, 7, 3, s)
		c.disturb(m, s, &j)
		if _, err := (Series{m, "c1"}).Run(t.Context(), j); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if all, err := (Series{m, "c1"}).List(t.Context()); err != nil || len(all) != 0 || m.count(states)+m.count(lists)+m.count(runs) != 0 {
			t.Errorf("%s: %v, %v, and %v", name, all, err, m.objects)
		}
	}
}

// liar forgets a blob of its state.
type liar struct{ *state }

func (l liar) Blobs() []backup.Blob { return l.state.Blobs()[1:] }

// TestHashedInTurn: a stored blob that has rotted is found within the period, stored once more, and the next backups use the good one (SPEC C8).
func TestHashedInTurn(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		m := newMemory()
		s := Series{m, "c1"}
		run := func(token uint64) Entry {
			t.Helper()
			m.pass(time.Hour)
			j := job(m, token, 9, newState(t, "a", "b", "c"))
			j.grace.recheck = 5 * time.Hour
			e, err := s.Run(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		run(1)
		for name, o := range m.objects {
			if strings.Contains(name, "/"+blobs) {
				if o.data = []byte("x"); cut {
					o.data = nil
				}
				m.objects[name] = o
			}
		}
		found := int64(0)
		for token := range uint64(5) {
			found += run(token + 2).New
		}
		if found != 3 {
			t.Errorf("cut %v: %d of 3 rotten blobs were found in five hours", cut, found)
		}
		e := run(9)
		v, err := backup.Verify(s.Open(t.Context(), e, nil), nil)
		if err != nil || e.New != 0 || v.End.Blobs != 3 {
			t.Errorf("cut %v: %+v, %v", cut, e, err)
		}
		all, _ := s.List(t.Context())
		if _, err := io.Copy(io.Discard, s.Open(t.Context(), all[0], nil)); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("cut %v: the first backup is read: %v", cut, err)
		}
	}
}

// TestSealed: an encrypted series has nothing in the clear, is read with the secret key only, and whoever gets the keys later gets all blobs anew.
func TestSealed(t *testing.T) {
	t.Parallel()
	m, secret := newMemory(), "a secret that must not be seen"
	s := Series{m, "c1"}
	var ids []*age.X25519Identity
	for i := range 2 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		for again := range 2 {
			m.pass(time.Hour)
			j := job(m, uint64(2*i+again+1), 9, newState(t, secret))
			j.grace.recheck = time.Minute // each blob is hashed each time
			j.Seal = &Seal{Tag: Tag{1: byte(i + 1)}, Wrap: func(w io.Writer) (io.WriteCloser, error) { return age.Encrypt(w, id.Recipient()) }}
			e, err := s.Run(t.Context(), j)
			if err != nil || !e.Encrypted || e.New != int64(1-again) {
				t.Fatalf("key %d, run %d: %+v, %v", i, again, e, err)
			}
		}
	}
	for name, o := range m.objects {
		if bytes.Contains(o.data, []byte(secret)) || strings.Contains(name, states) && bytes.Contains(o.data, []byte("taskrt-backup")) {
			t.Errorf("%s can be read", name)
		}
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, e := range all {
		for k, id := range ids {
			v, err := backup.Verify(s.Open(t.Context(), e, func(r io.Reader) (io.Reader, error) { return age.Decrypt(r, id) }), nil)
			if mine := k == i/2; (err == nil) != mine || mine && v.End.Blobs != 1 {
				t.Errorf("backup %d, key %d: %+v, %v", i, k, v, err)
			}
		}
	}
}

// TestNotExclusive: where objects are not created exclusively, a run that may go on delays collections, and an old one does not.
func TestNotExclusive(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.loose = true
	s := Series{m, "c1"}
	if there, exclusive, err := s.Mark(t.Context(), "m1"); there != "m1" || exclusive || err != nil {
		t.Fatalf("%q %v %v", there, exclusive, err)
	}
	m.loose = false
	if there, exclusive, err := s.Mark(t.Context(), "m2"); there != "m1" || !exclusive || err != nil {
		t.Fatalf("%q %v %v", there, exclusive, err)
	}
	m.loose = true
	m.set(s.path(runs, nameOf(m.now, 1)), []byte("{}"))
	m.set(s.path(states, nameOf(m.now, 1)), []byte("half"))
	for i, left := range []int{1, 1, 0} { // the run marker of job's grace is an hour
		m.pass(25 * time.Minute)
		j := job(m, uint64(i+2), 1, newState(t, "a"))
		j.Exclusive = false
		if _, err := s.Run(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if n := m.count(runs); n != left || m.count(states) != 1+left {
			t.Errorf("after %d: %d runs, %d states", i, n, m.count(states))
		}
	}
}

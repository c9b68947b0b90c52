package series

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// memory is a target whose clock a test moves.
type memory struct {
	mu      sync.Mutex
	objects map[string]object
	now     time.Time
	loose   bool // Create writes over what is there
	changed bool // in a way that may make a backup less whole
	gone    int  // blobs that were deleted

	published map[string]bool             // records that were created, by name
	spoil     func(name string, b []byte) // changes what is stored
}

type object struct {
	data     []byte
	modified time.Time
}

func newMemory() *memory {
	return &memory{objects: map[string]object{}, published: map[string]bool{}, now: time.Unix(1_700_000_000, 0)}
}

func (m *memory) String() string { return "memory" }
func (m *memory) Shared() bool   { return true }

func (m *memory) set(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spoil != nil {
		m.spoil(name, data)
	}
	m.objects[name] = object{data, m.now}
	m.changed = m.changed || strings.Contains(name, backups)
}

func (m *memory) Put(_ context.Context, name string, r io.Reader, size int64) error {
	data, err := io.ReadAll(r)
	if err == nil && size >= 0 && int64(len(data)) != size {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		m.set(name, data)
	}
	return err
}

func (m *memory) Create(_ context.Context, name string, data []byte) (bool, error) {
	m.mu.Lock()
	_, there := m.objects[name]
	m.mu.Unlock()
	if there && !m.loose {
		return false, nil
	}
	m.set(name, bytes.Clone(data))
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.Contains(name, backups) && len(data) > 0 {
		m.published[name[strings.LastIndexByte(name, '/')+1:]] = true
	}
	return true, nil
}

func (m *memory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, ok := m.objects[name]
	if !ok {
		return nil, target.ErrNotThere
	}
	return io.NopCloser(bytes.NewReader(x.data)), nil
}

func (m *memory) List(_ context.Context, folder string) iter.Seq2[target.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []target.Object
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		if x := m.objects[name]; strings.HasPrefix(name, folder) {
			all = append(all, target.Object{Name: name, Size: int64(len(x.data)), Modified: x.modified})
		}
	}
	return func(yield func(target.Object, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (m *memory) Folders(_ context.Context, folder string) (names []string, err error) {
	for o := range m.List(context.Background(), folder) {
		first, _, below := strings.Cut(strings.TrimPrefix(o.Name, folder), "/")
		if below && !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	return names, nil
}

func (m *memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[name]; there && strings.Contains(name, blobs) {
		m.gone++
	}
	delete(m.objects, name)
	m.changed = true
	return nil
}

func (m *memory) Sweep(context.Context, string, time.Duration) error { return nil }

// state is what a cluster has at one moment.
type state struct {
	m     *task.Machine
	files map[string][]byte
	held  error
}

// newState makes a state that knows these blobs.
func newState(t testing.TB, contents ...string) *state {
	t.Helper()
	s := &state{m: task.NewMachine(), files: map[string][]byte{}}
	apply := func(c task.Command) {
		if rs, _ := s.m.Apply(task.Header{Index: s.m.Index() + 1, Term: 2, Now: 1_700_000_000_000, LeaseNow: 1}, []task.Proposal{{Command: c}}); rs[0].Code != task.OK {
			t.Fatalf("%T: %+v", c, rs[0])
		}
	}
	for _, text := range contents {
		sum := sha256.Sum256([]byte(text))
		d := hex.EncodeToString(sum[:])
		apply(task.NoteBlob{Digest: d, Size: int64(len(text))})
		apply(task.NoteBlob{Digest: d, Size: int64(len(text)), Ready: true})
		s.files[d] = []byte(text)
	}
	return s
}

func (s *state) Header() backup.Header {
	f := s.m.Freeze()
	h := backup.Header{Cluster: "c1", Node: "n1", Version: "0", Begun: time.Unix(1, 0).UTC(), LogFormat: wire.Format}
	h.Describe(f)
	for _, b := range backup.Needed(f) {
		h.Blobs++
		h.BlobBytes += b.Size
	}
	return h
}

func (s *state) Blobs() []backup.Blob         { return backup.Needed(s.m.Freeze()) }
func (s *state) State(w *backup.Writer) error { return w.State(s.m.Freeze()) }
func (s *state) Held(context.Context) error   { return s.held }
func (s *state) Open(_ context.Context, b backup.Blob) (io.ReadCloser, error) {
	x, ok := s.files[b.Digest]
	if !ok {
		return nil, errors.New("no node has it")
	}
	return io.NopCloser(bytes.NewReader(x)), nil
}

// job is a run of a state that nothing disturbs.
func job(m *memory, token uint64, keep int, s Source) Job {
	return Job{
		Token: token, Keep: keep, Exclusive: true, Parallel: 1, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return m.now }, Alive: func(context.Context) error { return nil },
		Take: func(context.Context) (Source, error) { return s, nil },
		Pace: func(context.Context, int) error { return nil }, Progress: func(string, int64) error { return nil },
		grace: grace{condemned: time.Minute, run: time.Hour, givenUp: 24 * time.Hour, recheck: 1000 * time.Hour},
	}
}

func (m *memory) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// count returns how many objects a folder has.
func (m *memory) count(folder string) (n int) {
	for o := range m.List(context.Background(), "taskrt-c1/"+folder) {
		if o.Size > 0 || folder != backups {
			n++
		}
	}
	return n
}

// whole returns an error if a backup that is listed is not whole.
func (m *memory) whole() error {
	s := Series{m, "c1"}
	all, err := s.List(context.Background())
	if err != nil {
		return err
	}
	for _, e := range all {
		if _, ok := m.objects[s.path(states, e.Name)]; !ok {
			return fmt.Errorf("backup %s has no state", e.Name)
		}
		err := readList(bytes.NewReader(m.objects[s.path(lists, e.Name)].data), func(x stored) error {
			o, ok := m.objects[s.path(blobs, x.key.object())]
			if sum := sha256.Sum256(o.data); !ok || sum != x.key.sum() {
				return fmt.Errorf("backup %s has no blob %s", e.Name, x.key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errKilled is what the process of a killed run gets to see.
var errKilled = errors.New("killed")

// actor is a run whose every step waits for its turn.
type actor struct {
	*memory
	w    *world
	turn chan fate
	dead bool

	asleep int // until this step
}

type fate byte

const (
	live fate = iota
	diesBefore
	diesAfter
)

// world lets actors take their turns in an order that a seed decides.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	m       *memory
	waiting chan *actor
	current uint64 // the token of the lease that was given last
}

// step waits for the actor's turn, and then does something.
func (a *actor) step(do func()) error {
	if a.dead {
		return errKilled
	}
	a.w.waiting <- a
	switch <-a.turn {
	case diesBefore:
		a.dead = true
		return errKilled
	case diesAfter:
		a.dead = true
		do()
		return errKilled
	}
	do()
	return nil
}

func (a *actor) Put(ctx context.Context, name string, r io.Reader, size int64) (err error) {
	return errors.Join(a.step(func() { err = a.memory.Put(ctx, name, r, size) }), err)
}

func (a *actor) Create(ctx context.Context, name string, data []byte) (created bool, err error) {
	killed := a.step(func() { created, err = a.memory.Create(ctx, name, data) })
	return created, errors.Join(killed, err)
}

func (a *actor) Get(ctx context.Context, name string) (in io.ReadCloser, err error) {
	killed := a.step(func() { in, err = a.memory.Get(ctx, name) })
	return in, errors.Join(killed, err)
}

func (a *actor) List(ctx context.Context, folder string) (all iter.Seq2[target.Object, error]) {
	if err := a.step(func() { all = a.memory.List(ctx, folder) }); err != nil {
		return func(yield func(target.Object, error) bool) { yield(target.Object{}, err) }
	}
	return all
}

func (a *actor) Delete(ctx context.Context, name string) (err error) {
	return errors.Join(a.step(func() { err = a.memory.Delete(ctx, name) }), err)
}

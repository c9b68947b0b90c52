package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/upload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guestFile reads a committed guest.
func guestFile(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error("close:", err)
		}
	})
	return e
}

func load(t testing.TB, e *Engine, wasm []byte) *Module {
	t.Helper()
	m, err := e.Load(t.Context(), Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fakeHost records what a guest says. Its funcs may be nil.
type fakeHost struct {
	mu         sync.Mutex
	beats      []beat
	logs       []logged
	saved      [][]byte
	beat       func(n int) abi.Signals // n: beats so far
	signals    func() abi.Signals
	checkpoint func(context.Context, []byte) error
	call       func(context.Context, abi.Op, []byte) ([]byte, error)
}

type beat struct {
	done, total int64
	note        string
}

type logged struct {
	level int
	msg   string
}

func (h *fakeHost) Beat(done, total int64, note []byte) abi.Signals {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats = append(h.beats, beat{done, total, string(note)})
	if h.beat == nil {
		return 0
	}
	return h.beat(len(h.beats))
}

func (h *fakeHost) Signals() abi.Signals {
	if h.signals == nil {
		return 0
	}
	return h.signals()
}

func (h *fakeHost) Checkpoint(ctx context.Context, data []byte) error {
	if h.checkpoint != nil {
		if err := h.checkpoint(ctx, data); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saved = append(h.saved, data)
	return nil
}

func (h *fakeHost) Call(ctx context.Context, op abi.Op, payload []byte) ([]byte, error) {
	if h.call == nil {
		return nil, ErrDenied
	}
	return h.call(ctx, op, payload)
}

func (h *fakeHost) Log(level int, msg []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, logged{level, string(msg)})
}

func (h *fakeHost) logged() []logged {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.logs)
}

// uploadError returns the upload.Error in err, or fails.
func uploadError(t testing.TB, err error) *upload.Error {
	t.Helper()
	var bad *upload.Error
	if !errors.As(err, &bad) {
		t.Fatalf("error is %v (%T), want *upload.Error", err, err)
	}
	return bad
}

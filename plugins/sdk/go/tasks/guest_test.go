package tasks_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// guestHost is as much of a host as the guest needs.
type guestHost struct {
	params   string
	out      map[int32]string
	children []string
	answer   int32 // to submit
}

func text(m api.Module, ptr, n uint32) string {
	p, _ := m.Memory().Read(ptr, n)
	return string(p)
}

func (h *guestHost) instantiate(ctx context.Context, t *testing.T, wasm []byte) api.Module {
	t.Helper()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { r.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	base := r.NewHostModuleBuilder(abi.Module)
	for name, f := range map[string]any{ // order-free: functions of a module
		abi.FuncLen: func(int32) int32 { return int32(len(h.params)) },
		abi.FuncRead: func(_ context.Context, m api.Module, _ int32, ptr, off, n uint32) int32 {
			m.Memory().Write(ptr, []byte(h.params)[off:off+n])
			return int32(n)
		},
		abi.FuncWrite: func(_ context.Context, m api.Module, ch int32, ptr, n uint32) int32 {
			h.out[ch] += text(m, ptr, n)
			return int32(n)
		},
		abi.FuncLog:     func(int32, uint32, uint32) {},
		abi.FuncBeat:    func(int64, int64) int32 { return 0 },
		abi.FuncSignals: func() int32 { return 0 },
		abi.FuncClock:   func(int32) int64 { return 0 },
		abi.FuncCall:    func(int32, uint32, uint32) int32 { return int32(abi.ENOSYS) },
	} {
		base.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	capability := r.NewHostModuleBuilder(abi.ModuleTasks)
	capability.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, ptr, n uint32) int32 {
		h.children = append(h.children, text(m, ptr, n))
		return h.answer
	}).Export(abi.FuncTasksSubmit)
	for _, b := range []wazero.HostModuleBuilder{base, capability} {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions(abi.ExportInitialize))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGuest calls the exports of a module as a host does, against nothing but the ABI.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	wasm, err := os.ReadFile(plugintest.BuildGo(t, "testdata/guest"))
	if err != nil {
		t.Fatal(err)
	}
	h := &guestHost{params: `{"a":1}`, out: map[int32]string{}, answer: 3}
	m := h.instantiate(t.Context(), t, wasm)
	if _, err := m.ExportedFunction(abi.ExportDescribe).Call(t.Context()); err != nil || !strings.HasPrefix(h.out[int32(abi.Manifest)], `{"schema":1,"requires":["tasks"],`) {
		t.Errorf("%v, %v", h.out, err)
	}
	run := func() abi.Outcome {
		outcome, err := m.ExportedFunction(abi.ExportRun).Call(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return abi.Outcome(outcome[0])
	}
	if got := run(); got != abi.OutcomeOK || h.out[int32(abi.Result)] != "3" {
		t.Errorf("%d, %v", got, h.out)
	}
	if len(h.children) != 1 || h.children[0] != `{"behavior":"child","params":{"a":1},"priority":7}` {
		t.Errorf("%q", h.children)
	}
	h.answer = int32(abi.EDENIED)
	if got := run(); got != abi.OutcomeRetryable || h.out[int32(abi.ErrorDetail)] != `{"message":"child child: not granted to this behavior"}` {
		t.Errorf("%d, %v", got, h.out)
	}
}

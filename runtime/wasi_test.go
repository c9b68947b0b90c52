package runtime

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasi"
)

// Behaviors of testdata/wasm/polls.wat.
const (
	pollsMany = iota
	pollsTwo
	pollsUntil
	pollsEver
)

// TestPolls: which of several clocks go off, and when, in virtual time.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, newEngine(t, Config{}), guestFile(t, "polls"))
		for _, tt := range []struct {
			behavior int32
			takes    time.Duration
			user     uint32 // of the only event: the address of its subscription
		}{
			{pollsTwo, 300 * time.Millisecond, 1024},
			{pollsUntil, time.Second, 1024 + 48},
		} {
			begun := time.Now()
			out := m.Run(t.Context(), Attempt{Behavior: tt.behavior}, &fakeHost{})
			got := make([]uint32, len(out.Result)/4)
			_ = binary.Read(strings.NewReader(string(out.Result)), binary.LittleEndian, got)
			if took := time.Since(begun); took != tt.takes || len(got) < 10 || got[0] != 0 || got[1] != 1 || got[2] != tt.user || got[10] != 0 {
				t.Errorf("behavior %d: after %v, want %v: %v, %+v", tt.behavior, took, tt.takes, got, out)
			}
		}
		begun := time.Now()
		if out := m.Run(t.Context(), Attempt{Behavior: pollsEver}, &fakeHost{}); out.Code != CodeTimeout || time.Since(begun) != manifest.DefaultRunTimeout {
			t.Errorf("2^64-1 ns ended after %v: %+v", time.Since(begun), out)
		}
		for _, cause := range []error{ErrKilledCancel, ErrKilledLease, ErrKilledStop} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			begun := time.Now()
			if out := m.Run(ctx, Attempt{Behavior: pollsEver}, &fakeHost{}); out.Kind != Killed || !errors.Is(out.Cause, cause) || time.Since(begun) != time.Second {
				t.Errorf("%v: after %v: %+v", cause, time.Since(begun), out)
			}
		}
	})
}

// TestPollOfAllMemory: a call over a list as long as memory is refused before anything is done.
func TestPollOfAllMemory(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "polls"))
	out := m.Run(t.Context(), Attempt{Behavior: pollsMany, MemoryBytes: 64 << 20}, &fakeHost{})
	if out.Kind != Succeeded || len(out.Result) != 8 || binary.LittleEndian.Uint32(out.Result) != 28 { // EINVAL
		t.Errorf("got %+v", out)
	}
}

// callZero is code that pushes i32 constants and calls function 0.
func callZero(args ...int32) (code []byte) {
	for _, a := range args {
		code = append(append(code, 0x41), sleb(int(a))...)
	}
	return append(code, 0x10, 0)
}

func wasiImport(name, params string) []wasmImport {
	return []wasmImport{{module: "wasi_snapshot_preview1", name: name, params: params, results: "i"}}
}

// TestLongCallsArePaidFor: what the host moves for a guest costs fuel by its length, and a guest that runs out of
// fuel ends within the call.
func TestLongCallsArePaidFor(t *testing.T) {
	e := newEngine(t, Config{})
	const mib = 1 << 20
	random := wasmSpec{imports: wasiImport("random_get", "ii"), memory: []byte{0, 16}, exports: []wasmExport{run(append(callZero(0, mib), 0x1a, 0x41, 0)...)}}
	m := load(t, e, random.build())
	if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded || out.Fuel < mib/16 || out.Fuel > mib/16+100 {
		t.Errorf("random_get of 1 MiB: %+v", out)
	}
	if out := m.Run(t.Context(), Attempt{Fuel: mib / 32}, &fakeHost{}); out.Code != CodeOutOfFuel || out.Fuel != mib/32 {
		t.Errorf("with half of the fuel: %+v", out)
	}
	// The same holds at upload: a guest writes a megabyte for ever, and each write is refused.
	write := []wasmImport{{module: abi.Module, name: abi.FuncWrite, params: "iii", results: "i"}}
	loop := append([]byte{0x03, 0x40}, append(callZero(int32(abi.Result), 0, mib), 0x1a, 0x0c, 0, 0x0b)...)
	init := wasmSpec{imports: write, memory: random.memory, exports: []wasmExport{{"_initialize", "", "", loop}, succeed}}
	_, err := e.Inspect(t.Context(), init.build(), nil, "abc")
	if bad := uploadError(t, err); bad.Code != upload.TrialFailed || !strings.Contains(bad.Message, CodeOutOfFuel) {
		t.Errorf("got %v", err)
	}
}

// TestLateEndsAreTimeouts: an attempt that returns after its deadline is a timeout, whatever it says (SPEC L7), and a
// cancelled guest's success counts only within the grace (SPEC L8).
func TestLateEndsAreTimeouts(t *testing.T) {
	beat := []wasmImport{{module: abi.Module, name: abi.FuncBeat, params: "II", results: "i"}}
	body := func(then ...byte) []byte { return append([]byte{0x42, 0, 0x42, 0, 0x10, 0, 0x1a}, then...) }
	for _, tt := range []struct {
		name  string
		code  []byte
		a     Attempt
		cause error
		want  Outcome
	}{
		{name: "in time", code: body(0x41, 0), a: Attempt{RunTimeout: time.Second + 1}, want: Outcome{Kind: Succeeded}},
		{name: "at the deadline", code: body(0x41, 0), a: Attempt{RunTimeout: time.Second}, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "long after", code: body(0x41, 0), a: Attempt{RunTimeout: time.Millisecond}, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "a failure", code: body(0x41, 2), a: Attempt{RunTimeout: time.Second}, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "a trap", code: body(0x00), a: Attempt{RunTimeout: time.Second}, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "no heartbeat", code: body(0x41, 0), a: Attempt{HeartbeatTimeout: time.Second}, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "the grace is over", code: body(0x41, 0), cause: ErrKilledCancel, want: Outcome{Kind: Killed}},
		{name: "the caller's deadline", code: body(0x41, 0), cause: context.DeadlineExceeded, want: Outcome{Kind: Failed, Code: CodeTimeout, Class: ClassTimeout}},
		{name: "the lease is lost", code: body(0x41, 0), cause: ErrKilledLease, want: Outcome{Kind: Succeeded}},
		{name: "the worker stops", code: body(0x41, 0), cause: ErrKilledStop, want: Outcome{Kind: Succeeded}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := load(t, newEngine(t, Config{}), wasmSpec{imports: beat, exports: []wasmExport{run(tt.code...)}}.build())
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				host := &fakeHost{beat: func(int) abi.Signals { // takes a second, and looks at nothing
					if tt.cause != nil {
						time.AfterFunc(time.Second/2, func() { cancel(tt.cause) })
					}
					<-time.After(time.Second)
					return 0
				}}
				out := m.Run(ctx, tt.a, host)
				if out.Kind != tt.want.Kind || out.Code != tt.want.Code || out.Class != tt.want.Class {
					t.Errorf("got %+v", out)
				}
			})
		})
	}
}

// TestImageKeepsDescriptors: every attempt finds what _initialize did to descriptors, in new instances and in used
// ones, and nothing of what another attempt did to them.
func TestImageKeepsDescriptors(t *testing.T) {
	closing := append(callZero(2), 0x1a) // fd_close(2)
	spec := wasmSpec{imports: wasiImport("fd_close", "i"), exports: []wasmExport{{"_initialize", "", "", closing}}}
	// Status of closing 2 and then 1, as an outcome: EBADF + success.
	spec.exports = append(spec.exports, run(append(append(callZero(2), callZero(1)...), 0x6a, 0x41, 8, 0x47)...))
	for name, how := range restorings {
		t.Run(name, func(t *testing.T) {
			m := load(t, hostileEngine(t, how), spec.build())
			for range 4 {
				if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
					t.Errorf("got %+v", out)
				}
			}
			if got := m.Instances(); (got.Reused == 3) != (how != memory.Never) {
				t.Errorf("instances: %+v", got)
			}
		})
	}
	t.Run("cache", func(t *testing.T) {
		dir := t.TempDir()
		keepImageOf(t, dir, spec.build())
		m := load(t, reader(t, dir), spec.build())
		if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
			t.Errorf("got %+v", out)
		}
	})
}

// TestSleepsPassInPhaseStart: while a guest is initialised, its sleep is over at once, even one for ever.
func TestSleepsPassInPhaseStart(t *testing.T) {
	poll := append([]byte{0x41, 0x18, 0x42}, sleb(-1)...) // timeout of the subscription at 0: 2^64-1 ns
	poll = append(poll, 0x37, 3, 0)
	poll = append(append(poll, callZero(0, 64, 1, 128)...), 0x1a)
	spec := wasmSpec{imports: wasiImport("poll_oneoff", "iiii"), exports: []wasmExport{{"_initialize", "", "", poll}, run(append([]byte{0x41}, append(sleb(128), 0x28, 2, 0, 0x41, 1, 0x47)...)...)}}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := load(t, newEngine(t, Config{}), spec.build())
		if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded || time.Since(begun) != 0 {
			t.Errorf("after %v: %+v", time.Since(begun), out)
		}
	})
}

// TestWASILinks calls every function from a guest, with zeros: each function has its signature, gets its parameters
// and answers its status.
func TestWASILinks(t *testing.T) {
	e := newEngine(t, Config{})
	want := map[string]byte{ // EINVAL 28, ENOSYS 52, ENOTDIR 54, ENOTSOCK 57, ENOTSUP 58, ESPIPE 70, EBADF 8; all others succeed
		"fd_advise": 70, "fd_allocate": 70, "fd_datasync": 28, "fd_filestat_set_size": 28, "fd_filestat_set_times": 58, "fd_pread": 70,
		"fd_prestat_get": 8, "fd_prestat_dir_name": 8, "fd_pwrite": 70, "fd_readdir": 54, "fd_seek": 70, "fd_sync": 28, "fd_tell": 70,
		"fd_write": 8, "path_create_directory": 54, "path_filestat_get": 54, "path_filestat_set_times": 54, "path_link": 54, "path_open": 54,
		"path_readlink": 54, "path_remove_directory": 54, "path_rename": 54, "path_symlink": 54, "path_unlink_file": 54, "poll_oneoff": 28,
		"proc_raise": 52, "sock_accept": 57, "sock_recv": 57, "sock_send": 57, "sock_shutdown": 57,
	}
	for _, f := range wasi.Functions {
		var code []byte
		for _, p := range f.Params {
			code = append(code, map[rune]byte{'i': 0x41, 'I': 0x42}[p], 0)
		}
		// The status is written to address 0, and the four bytes there to the result.
		code = append([]byte{0x41, 0}, append(code, 0x10, 0, 0x36, 2, 0, 0x41, 16, 0x41, 0, 0x41, 4, 0x10, 1, 0x1a, 0x41, 0)...)
		imports := append(wasiImport(f.Name, f.Params), wasmImport{module: abi.Module, name: abi.FuncWrite, params: "iii", results: "i"})
		out := load(t, e, wasmSpec{imports: imports, exports: []wasmExport{run(code...)}}.build()).Run(t.Context(), Attempt{}, &fakeHost{})
		if out.Kind != Succeeded || string(out.Result) != string([]byte{want[f.Name], 0, 0, 0}) {
			t.Errorf("%s: got %+v, want status %d", f.Name, out, want[f.Name])
		}
	}
}

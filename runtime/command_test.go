package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
)

func TestCommandOutcomes(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
	long := strings.Repeat("0123456789abcdef", 20_000) // more than one read, and than the guest's memory would hold at once
	const words = `,"stderr":"a first line\nlast words\n"}`
	for _, tt := range []struct {
		name, params string
		a            Attempt
		want         Outcome // but for fuel, memory and times
	}{
		{"returns", "e[1, 2]\n", Attempt{}, Outcome{Kind: Succeeded, Result: []byte("[1, 2]\n"), HasResult: true}},
		{"exits with 0", "Ehello", Attempt{}, Outcome{Kind: Succeeded, Result: []byte("hello"), HasResult: true}},
		{"much", "e" + long, Attempt{}, Outcome{Kind: Succeeded, Result: []byte(long), HasResult: true}},
		{"no output", "e", Attempt{}, Outcome{Kind: Succeeded}},
		{"no params", "", Attempt{}, Outcome{Kind: Succeeded}},
		{"no output, result required", "e", Attempt{ResultRequired: true}, Outcome{
			Kind: Failed, Code: CodeNoResult, Class: ClassGuest,
			Message: "the run succeeded without writing a result, and the manifest says result: required",
		}},
		{"exit 1", "x1", Attempt{}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Message: "exit code 1: a first line\nlast words", Details: []byte(`{"exit_code":1` + words),
		}},
		{"exit 75", "x75", Attempt{}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Retryable: true, Message: "exit code 75: a first line\nlast words", Details: []byte(`{"exit_code":75` + words),
		}},
		{"exit 2^32-1", "x4294967295", Attempt{}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Message: "exit code 4294967295: a first line\nlast words", Details: []byte(`{"exit_code":4294967295` + words),
		}},
		{"an error of its own", "d9", Attempt{}, Outcome{Kind: Failed, Code: "own", Class: ClassGuest, Message: "by channel 17"}},
		{"a time of its own", "d75", Attempt{}, Outcome{Kind: Failed, Code: "own", Class: ClassGuest, Retryable: true, Message: "by channel 17", NextTime: 17}},
		{"output to the limit", "e" + long, Attempt{ResultBytes: int64(len(long))}, Outcome{Kind: Succeeded, Result: []byte(long), HasResult: true}},
		{"output over the limit", "e" + long, Attempt{ResultBytes: int64(len(long)) - 1}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Message: "standard output is over the limit of 319999 bytes for results (result_bytes)",
		}},
		{"output without end", "o", Attempt{}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Message: "standard output is over the limit of 16777216 bytes for results (result_bytes)",
		}},
		{"both ways to a result", "w", Attempt{}, Outcome{Kind: Succeeded, Result: []byte("a first"), HasResult: true}},
		{"arguments", "a", Attempt{Info: []byte(`{"behavior":"sort"}`)}, Outcome{Kind: Succeeded, Result: []byte("sort\n"), HasResult: true}},
		{"arguments, nothing known", "a", Attempt{}, Outcome{Kind: Succeeded, Result: []byte("command\n"), HasResult: true}},
		{"descriptors closed", "q", Attempt{}, Outcome{Kind: Succeeded}},
		{"out of memory and exit 1", "g1", Attempt{MemoryBytes: 1 << 20}, Outcome{
			Kind: Failed, Code: CodeOutOfMemory, Class: ClassExhausted, Message: "over the limit of 1048576 bytes of memory: exit code 1",
		}},
		{"out of memory and exit 75", "g75", Attempt{MemoryBytes: 1 << 20}, Outcome{
			Kind: Failed, Code: CodeHandlerError, Class: ClassGuest, Retryable: true, Message: "exit code 75", Details: []byte(`{"exit_code":75}`),
		}},
		{"out of fuel", "f", Attempt{Fuel: 1_000_000}, Outcome{
			Kind: Failed, Code: CodeOutOfFuel, Class: ClassExhausted, Message: "over the limit of 1000000 units of fuel",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Params = []byte(tt.params)
			out := m.Run(t.Context(), tt.a, &fakeHost{})
			if out.Kind != tt.want.Kind || out.Code != tt.want.Code || out.Class != tt.want.Class || out.Retryable != tt.want.Retryable ||
				out.Message != tt.want.Message || !bytes.Equal(out.Details, tt.want.Details) || out.HasResult != tt.want.HasResult ||
				!bytes.Equal(out.Result, tt.want.Result) || out.NextTime != tt.want.NextTime {
				t.Errorf("got %.500v\nwant %.500v", fmt.Sprintf("%+v", out), fmt.Sprintf("%+v", tt.want))
			}
			// The next attempt finds nothing of it.
			if out := m.Run(t.Context(), Attempt{Params: []byte("c")}, &fakeHost{}); string(out.Result) != "A" {
				t.Errorf("after it: %+v", out)
			}
		})
	}
}

func TestCommandTraps(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
	host := &fakeHost{}
	out := m.Run(t.Context(), Attempt{Params: []byte("t")}, host)
	if out.Code != CodeTrap || out.Class != ClassTrap || out.Message != "unreachable: last words" || !strings.Contains(string(out.Details), "a first line") {
		t.Errorf("got %+v, details %s", out, out.Details)
	}
	if !slices.Equal(host.logged(), []logged{{abi.LogWarn, "a first line"}, {abi.LogWarn, "last words"}}) {
		t.Errorf("log is %v", host.logged())
	}
	// Standard output does not belong to the log.
	host = &fakeHost{}
	if m.Run(t.Context(), Attempt{Params: []byte("ehello\n")}, host); len(host.logged()) != 0 {
		t.Errorf("log is %v", host.logged())
	}
}

// TestCommandReadsSource: commands, too, read params that lie in a file from there.
func TestCommandReadsSource(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
	text := "E" + strings.Repeat("x", 100_000)
	a := Attempt{Params: []byte("not these"), ParamsFrom: &Source{ReaderAt: strings.NewReader(text), Size: int64(len(text))}}
	if out := m.Run(t.Context(), a, &fakeHost{}); string(out.Result) != text[1:] {
		t.Errorf("got %.100v", fmt.Sprintf("%+v", out))
	}
	a.ParamsFrom.Size++
	out := m.Run(t.Context(), a, &fakeHost{})
	if out.Code != CodeHandlerError || !out.Retryable || !strings.Contains(out.Message, "input cannot be read") {
		t.Errorf("got %+v", out)
	}
}

func TestCommandEnvironment(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
	environ := func(info string) []string {
		a := Attempt{Params: []byte("v"), Info: []byte(info), RunTimeout: 90 * time.Second}
		return strings.Split(strings.TrimSuffix(string(m.Run(t.Context(), a, &fakeHost{}).Result), "\n"), "\n")
	}
	full, err := json.Marshal(abi.TaskInfo{
		Namespace: "default", ID: "order-7", Behavior: "wordcount", Version: "9f86", Attempt: 2, MaxAttempts: 5, Failures: 1, Token: 8812,
		Parent: "op-3", Partition: "a=b", DeadlineMS: 1795262400000, CreatedMS: 1795262000000, Labels: map[string]string{"team": "a"},
		Node: "n2", Worker: "w2", Priority: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"TASKRT_ABI=1", "TASKRT_RUN_TIMEOUT_MS=90000", "TASKRT_INFO=" + string(full), "TASKRT_NAMESPACE=default", "TASKRT_TASK_ID=order-7",
		"TASKRT_BEHAVIOR=wordcount", "TASKRT_VERSION=9f86", "TASKRT_ATTEMPT=2", "TASKRT_MAX_ATTEMPTS=5", "TASKRT_FAILURES=1",
		"TASKRT_TOKEN=8812", "TASKRT_PARENT=op-3", "TASKRT_PARTITION=a=b", "TASKRT_DEADLINE_MS=1795262400000",
		"TASKRT_CREATED_MS=1795262000000", "TASKRT_NODE=n2", "TASKRT_WORKER=w2", "TASKRT_PRIORITY=4",
	}
	if got := environ(string(full)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Instances are used again, and nothing is seen of the attempt before.
	want = []string{
		"TASKRT_ABI=1", "TASKRT_RUN_TIMEOUT_MS=90000", `TASKRT_INFO={"id":"x\u0000y","worker":"w"}`, "TASKRT_ATTEMPT=0", "TASKRT_MAX_ATTEMPTS=0",
		"TASKRT_FAILURES=0", "TASKRT_TOKEN=0", "TASKRT_WORKER=w", "TASKRT_PRIORITY=0",
	}
	if got := environ(`{"id":"x\u0000y","worker":"w"}`); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if m.Instances().Reused == 0 {
		t.Error("the instance was not used again")
	}
}

// TestCommandHeartbeat: a command's heartbeat is its fuel; sleeping is no heartbeat (SPEC L7, B5).
func TestCommandHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
		begin := time.Now()
		out := m.Run(t.Context(), Attempt{Params: []byte("r"), HeartbeatTimeout: 50 * time.Millisecond}, &fakeHost{})
		if out.Kind != Succeeded || time.Since(begin) != 400*time.Millisecond {
			t.Errorf("one that computes ended after %v: %+v", time.Since(begin), out)
		}
		begin = time.Now()
		out = m.Run(t.Context(), Attempt{Params: []byte("s"), HeartbeatTimeout: 50 * time.Millisecond}, &fakeHost{})
		if out.Code != CodeTimeout || !strings.Contains(out.Message, "no heartbeat for 50ms") || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("one that sleeps ended after %v: %+v", time.Since(begin), out)
		}
		begin = time.Now()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrKilledCancel) })
		out = m.Run(ctx, Attempt{Params: []byte("s")}, &fakeHost{})
		if out.Kind != Killed || !errors.Is(out.Cause, ErrKilledCancel) || time.Since(begin) != time.Second {
			t.Errorf("one that is killed ended after %v: %+v", time.Since(begin), out)
		}
	})
}

// TestCommandFuel: a command is as deterministic as taskrt_run is: equal params use equal fuel, in new instances and
// in used ones.
func TestCommandFuel(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "command"))
	used := map[int64]int{}
	for range 5 {
		used[m.Run(t.Context(), Attempt{Params: []byte("e" + strings.Repeat("x", 1000))}, &fakeHost{}).Fuel]++
	}
	if len(used) != 1 || used[0] > 0 {
		t.Errorf("times of fuel used: %v", used)
	}
}

func TestLastWords(t *testing.T) {
	for _, tt := range []struct{ stderr, want string }{
		{"", ""},
		{"one\n", "one"},
		{"one\ntwo\n\n", "one\ntwo"},
		{"panic: no\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: no"},
		{strings.Repeat("x", 600) + "\n" + strings.Repeat("y", 600) + "\nend\n", strings.Repeat("y", 600) + "\nend"},
		{strings.Repeat("z", 2000), strings.Repeat("z", 1024)},
		{"\xff\xfe", "\ufffd"},
	} {
		g := newGuest(t.Context(), nil, &Config{Clock: time.Now}, Attempt{LogBytes: 1}, &fakeHost{})
		g.stderr.write([]byte(tt.stderr))
		if got := g.lastWords(); got != tt.want {
			t.Errorf("%.40q: got %.40q (%d bytes), want %.40q", tt.stderr, got, len(got), tt.want)
		}
	}
}

func TestInspectCommand(t *testing.T) {
	e := newEngine(t, Config{})
	bare := wasmSpec{exports: []wasmExport{{"_start", "", "", nil}}}.build()
	in, err := e.Inspect(t.Context(), bare, nil, "tool")
	if err != nil || in.Manifest.Behaviors[0].Name != "tool" {
		t.Errorf("got %+v, %v", in, err)
	}
	both := wasmSpec{exports: []wasmExport{{"_start", "", "", []byte{0}}, run(0x41, 1)}}.build() // has taskrt_run: no command
	if out := load(t, e, both).Run(t.Context(), Attempt{}, &fakeHost{}); out.Code != CodeHandlerError || !out.Retryable {
		t.Errorf("got %+v", out)
	}
}

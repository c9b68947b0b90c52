package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
)

// TestTimersAreArmedLate: an attempt that neither waits nor computes for long has no timers, and so costs little; an
// attempt that waits has them.
func TestTimersAreArmedLate(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "echo"))
	for n := range 3 {
		g := newGuest(t.Context(), nil, &e.cfg, Attempt{Params: []byte("x"), HeartbeatTimeout: time.Minute}.withDefaults(), &fakeHost{})
		if !m.enter(g) {
			t.Fatal("closed")
		}
		out := m.run(g)
		m.leave(g)
		g.cancel(nil)
		if armed := g.timers.limit != nil; out.Kind != Succeeded || armed != (n == 0) { // a new instance may wait for memory
			t.Errorf("attempt %d: armed %t, %+v", n, armed, out)
		}
	}
}

// TestTimeoutsInReusedInstances: timeouts hold where nothing is armed when the attempt begins.
func TestTimeoutsInReusedInstances(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "leak"))
	for range 2 {
		m.Run(t.Context(), Attempt{Params: []byte("l")}, &fakeHost{})
		out := m.Run(t.Context(), Attempt{Params: []byte("s"), RunTimeout: 5 * time.Millisecond}, &fakeHost{})
		if out.Code != CodeTimeout {
			t.Errorf("computes: %+v", out)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		m := load(t, e, guestFile(t, "conformance-wat"))
		for _, a := range []Attempt{{RunTimeout: 30 * time.Second}, {HeartbeatTimeout: 30 * time.Second}} {
			m.Run(t.Context(), Attempt{Params: []byte("sleep 1")}, &fakeHost{})
			a.Params = []byte("sleep 600000")
			begun := time.Now()
			out := m.Run(t.Context(), a, &fakeHost{})
			if took := time.Since(begun); out.Code != CodeTimeout || took != 30*time.Second {
				t.Errorf("after %v: %+v", took, out)
			}
		}
		if got := m.Instances(); got.Reused != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestHostileGuests(t *testing.T) {
	e := newEngine(t, Config{})
	for _, tt := range []struct {
		name  string
		a     Attempt
		code  string
		class Class
		says  string
	}{
		{"trap", Attempt{}, CodeTrap, ClassTrap, "unreachable"},
		{"spin", Attempt{RunTimeout: 30 * time.Millisecond}, CodeTimeout, ClassTimeout, "run_timeout of 30ms"},
		{"spin", Attempt{HeartbeatTimeout: 30 * time.Millisecond}, CodeTimeout, ClassTimeout, "no heartbeat for 30ms"},
		{"grow", Attempt{MemoryBytes: 4 << 20}, CodeOutOfMemory, ClassExhausted, "4194304"},
		{"grow", Attempt{MemoryBytes: 1 << 15}, CodeOutOfMemory, ClassExhausted, "32768"}, // less than it begins with
	} {
		t.Run(tt.name, func(t *testing.T) {
			wasm := guestFile(t, tt.name)
			in, err := e.Inspect(t.Context(), wasm, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := in.Manifest.Behaviors[0].Name; got != tt.name {
				t.Errorf("behavior is %q", got)
			}
			out := load(t, e, wasm).Run(t.Context(), tt.a, &fakeHost{})
			if out.Kind != Failed || out.Code != tt.code || out.Class != tt.class || !strings.Contains(out.Message, tt.says) {
				t.Errorf("outcome %+v, want %s", out, tt.code)
			}
			if out.Ended < out.Started {
				t.Errorf("ran from %d to %d", out.Started, out.Ended)
			}
			if used := usedByGuests(e); used != 0 {
				t.Errorf("%d bytes of memory are kept", used)
			}
		})
	}
}

func TestStackOverflowIsATrap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 160 MiB of host memory for a moment")
	}
	e := newEngine(t, Config{})
	recursion := wasmSpec{exports: []wasmExport{run(0x20, 0, 0x10, 0)}}.build() // calls itself
	out := load(t, e, recursion).Run(t.Context(), Attempt{}, &fakeHost{})
	if out.Code != CodeTrap || out.Message != "stack overflow" {
		t.Errorf("got %+v", out)
	}
}

func TestTrapHasTraceAndStderr(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "conformance-wat"))
	long := strings.Repeat("x", StderrTail) + "\npanic: boom\ngoroutine 1"
	out := m.Run(t.Context(), Attempt{Params: []byte("panic " + long)}, &fakeHost{})
	if out.Code != CodeTrap || out.Message != "unreachable: panic: boom" {
		t.Errorf("got %s: %s", out.Code, out.Message)
	}
	if len(out.Stderr) != StderrTail || !strings.HasSuffix(string(out.Stderr), "panic: boom\ngoroutine 1\n") {
		t.Errorf("%d bytes of stderr: %q", len(out.Stderr), out.Stderr[max(0, len(out.Stderr)-30):])
	}
	var details struct{ Stderr, Trace string }
	if err := json.Unmarshal(out.Details, &details); err != nil || details.Stderr != string(out.Stderr) || details.Trace == "" {
		t.Errorf("details %s: %v", out.Details, err)
	}
}

func TestKilled(t *testing.T) {
	e := newEngine(t, Config{})
	spin := load(t, e, guestFile(t, "spin"))
	parent := errors.New("somebody's own reason")
	for _, cause := range []error{ErrKilledCancel, ErrKilledLease, ErrKilledStop, parent, context.Canceled} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		out := spin.Run(ctx, Attempt{}, &fakeHost{})
		if out.Kind != Killed || !errors.Is(out.Cause, cause) {
			t.Errorf("cause %v: got %+v", cause, out)
		}
	}
	for _, cause := range []error{ErrKilledTimeout, fmt.Errorf("deadline: %w", context.DeadlineExceeded)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		if out := spin.Run(ctx, Attempt{}, &fakeHost{}); out.Kind != Failed || out.Code != CodeTimeout {
			t.Errorf("cause %v: got %+v", cause, out)
		}
	}
}

func TestKilledBeforeItBegins(t *testing.T) {
	e := newEngine(t, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrKilledLease)
	out := load(t, e, guestFile(t, "echo")).Run(ctx, Attempt{}, &fakeHost{})
	if out.Kind != Killed || !errors.Is(out.Cause, ErrKilledLease) {
		t.Errorf("got %+v", out)
	}
}

// TestKilledInTheHost: a guest that waits in the host is released by its context at once, and its sleep is cut.
func TestKilledInTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		m := load(t, e, guestFile(t, "conformance-wat"))
		for _, params := range []string{"checkpoint x", "sleep 3600000"} {
			begin := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(ErrKilledLease) })
			host := &fakeHost{checkpoint: func(ctx context.Context, _ []byte) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			out := m.Run(ctx, Attempt{Params: []byte(params)}, host)
			if out.Kind != Killed || !errors.Is(out.Cause, ErrKilledLease) || time.Since(begin) != time.Second {
				t.Errorf("%s: got %+v after %v", params, out, time.Since(begin))
			}
		}
	})
}

func TestTimeoutsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		conformance, wait := load(t, e, guestFile(t, "conformance-wat")), load(t, e, guestFile(t, "wait"))
		slowHost := &fakeHost{checkpoint: func(ctx context.Context, _ []byte) error {
			time.Sleep(time.Minute)
			return nil
		}}
		for _, tt := range []struct {
			name  string
			m     *Module
			a     Attempt
			host  *fakeHost
			code  string // "": success
			after time.Duration
		}{
			{"sleeps without beating", conformance, Attempt{Params: []byte("sleep 60000"), HeartbeatTimeout: 10 * time.Second}, nil, CodeTimeout, 10 * time.Second},
			{"beats while it sleeps", wait, Attempt{Params: []byte("60000"), HeartbeatTimeout: 10 * time.Second}, nil, "", time.Minute},
			{"the host is slow", conformance, Attempt{Params: []byte("checkpoint x"), HeartbeatTimeout: 10 * time.Second}, slowHost, "", time.Minute},
			{"run timeout", wait, Attempt{Params: []byte("60000"), RunTimeout: 30 * time.Second}, nil, CodeTimeout, 30 * time.Second},
			{"default run timeout", wait, Attempt{Params: []byte("99999999")}, nil, CodeTimeout, time.Hour},
		} {
			begin := time.Now()
			host := tt.host
			if host == nil {
				host = &fakeHost{}
			}
			out := tt.m.Run(t.Context(), tt.a, host)
			if out.Code != tt.code || (tt.code == "") != (out.Kind == Succeeded) || time.Since(begin) != tt.after {
				t.Errorf("%s: got %+v after %v", tt.name, out, time.Since(begin))
			}
		}
	})
}

func TestWaitGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		m := load(t, e, guestFile(t, "wait"))
		begin := time.Now()
		out := m.Run(t.Context(), Attempt{Params: []byte(`{"ms": 1234}`)}, &fakeHost{})
		if string(out.Result) != "1234" || time.Since(begin) != 1234*time.Millisecond {
			t.Errorf("got %+v after %v", out, time.Since(begin))
		}

		// Drained after a second, resumed for the rest.
		begin = time.Now()
		drained := &fakeHost{beat: func(n int) abi.Signals {
			if time.Since(begin) >= time.Second {
				return abi.SignalDraining
			}
			return 0
		}}
		out = m.Run(t.Context(), Attempt{Params: []byte("5000")}, drained)
		if out.Kind != Yielded || len(drained.saved) != 1 || string(drained.saved[0]) != "1000" {
			t.Fatalf("got %+v, checkpoints %q", out, drained.saved)
		}
		out = m.Run(t.Context(), Attempt{Params: []byte("5000"), Checkpoint: drained.saved[0]}, &fakeHost{})
		if out.Kind != Succeeded || time.Since(begin) != 5*time.Second {
			t.Errorf("got %+v after %v", out, time.Since(begin))
		}

		begin = time.Now()
		out = m.Run(t.Context(), Attempt{Params: []byte("5000")}, &fakeHost{beat: func(n int) abi.Signals {
			if n > 3 {
				return abi.SignalCancel
			}
			return 0
		}})
		if out.Kind != Cancelled || time.Since(begin) != 150*time.Millisecond {
			t.Errorf("got %+v after %v", out, time.Since(begin))
		}
	})
}

func TestDeadlineNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{}.withDefaults()
		var near []time.Duration
		begin := time.Now()
		g := newGuest(t.Context(), nil, &cfg, Attempt{RunTimeout: 10 * time.Second}, &fakeHost{})
		for range 11 {
			if g.signals(0)&abi.SignalDeadlineNear != 0 {
				near = append(near, time.Since(begin))
			}
			time.Sleep(time.Second)
		}
		if !slices.Equal(near, []time.Duration{9 * time.Second, 10 * time.Second}) {
			t.Errorf("near at %v", near)
		}
	})
}

// TestFreshMemory: no trace of one attempt is in the next, whatever it did (SPEC B4).
func TestFreshMemory(t *testing.T) {
	e := newEngine(t, Config{})
	// The module counts in memory[0] and returns one less: outcome 0 if and only if the count was 0 before.
	count := load(t, e, wasmSpec{exports: []wasmExport{run(
		0x41, 0, 0x41, 0, 0x28, 2, 0, 0x41, 1, 0x6a, 0x36, 2, 0, // mem[0]++
		0x41, 0, 0x28, 2, 0, 0x41, 1, 0x6b, // mem[0]-1
	)}}.build())
	for range 3 {
		if out := count.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
			t.Fatalf("got %+v", out)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "conformance-wat"))
	for _, tt := range []struct {
		params string
		limit  int64
		want   []logged
	}{
		{"log", 1000, []logged{{0, "a trace"}, {1, "a debug"}, {2, "an info"}, {3, "a warn"}, {4, "an error"}}},
		{"log", 8 + 8, []logged{{0, "a trace"}, {1, "a debug"}, {3, "… log limit of 16 bytes reached, the rest is dropped"}}},
		{"log", 8 + 5, []logged{{0, "a trace"}, {1, "a de"}, {3, "… log limit of 13 bytes reached, the rest is dropped"}}},
		{"stdout a\nb\n\nc", 1000, []logged{{2, "a"}, {2, "b"}, {2, ""}, {2, "c"}}},
		{"stderr " + strings.Repeat("x", maxLine+5), 10000, []logged{{3, strings.Repeat("x", maxLine)}, {3, "xxxxx"}}},
		{"stderr " + strings.Repeat("x", 100), 11, []logged{{3, "xxxxxxxxxx"}, {3, "… log limit of 11 bytes reached, the rest is dropped"}}},
	} {
		host := &fakeHost{}
		m.Run(t.Context(), Attempt{Params: []byte(tt.params), LogBytes: tt.limit}, host)
		if got := host.logged(); !slices.Equal(got, tt.want) {
			t.Errorf("%.20q with %d bytes: got %v", tt.params, tt.limit, got)
		}
	}
}

func TestLastLineWithoutNewlineIsLogged(t *testing.T) {
	host := &fakeHost{}
	log := &attemptLog{host: host, limit: 100, left: 100}
	w := &lineWriter{log: log, level: abi.LogInfo}
	for _, s := range []string{"on", "e\ntw", "o"} {
		w.write([]byte(s))
	}
	w.flush()
	w.flush()
	if got := host.logged(); !slices.Equal(got, []logged{{2, "one"}, {2, "two"}}) {
		t.Errorf("got %v", got)
	}
}

func TestInjectedClockAndRandomness(t *testing.T) {
	wall := time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC)
	e := newEngine(t, Config{Clock: func() time.Time { return wall }, Rand: strings.NewReader(strings.Repeat("r", 100))})
	m := load(t, e, guestFile(t, "conformance-wat"))
	out := m.Run(t.Context(), Attempt{Params: []byte("clock"), RunTimeout: time.Minute}, &fakeHost{})
	if want := fmt.Sprint(wall.UnixMilli(), " 60000 0"); string(out.Result) != want {
		t.Errorf("clock: got %q, want %q", out.Result, want)
	}
	out = m.Run(t.Context(), Attempt{Params: []byte("random 5")}, &fakeHost{})
	if string(out.Result) != "rrrrr" {
		t.Errorf("random: got %q", out.Result)
	}
	// The source is used up: the guest must not go on with less.
	if out = m.Run(t.Context(), Attempt{Params: []byte("random 100")}, &fakeHost{}); out.Code != CodeTrap {
		t.Errorf("random: got %+v", out)
	}
}

// TestInfoIsMadeWhenRead: the task info is made once, only for a guest that reads it, and the guest reads what was
// made.
func TestInfoIsMadeWhenRead(t *testing.T) {
	e := newEngine(t, Config{})
	made := 0
	run := func(name, params string) Outcome {
		made = 0
		return load(t, e, guestFile(t, name)).Run(t.Context(), Attempt{
			Params: []byte(params), MakeInfo: func() []byte { made++; return []byte(`{"behavior":"sort","id":"x"}`) },
		}, &fakeHost{})
	}
	if out := run("echo", "x"); out.Kind != Succeeded || made != 0 {
		t.Errorf("echo: %+v, made %d times", out, made)
	}
	if out := run("command", "a"); string(out.Result) != "sort\n" || made != 1 {
		t.Errorf("command: %+v, made %d times", out, made)
	}
}

func TestSpans(t *testing.T) {
	var mu sync.Mutex
	var spans []Span
	var tick time.Duration
	e := newEngine(t, Config{
		Boottime: func() time.Duration { mu.Lock(); defer mu.Unlock(); tick++; return tick },
		OnRun:    func(s Span) { mu.Lock(); defer mu.Unlock(); spans = append(spans, s) },
	})
	m := load(t, e, guestFile(t, "trap"))
	out := m.Run(t.Context(), Attempt{Behavior: 3, Info: []byte(`{"id":"x"}`)}, &fakeHost{})
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	s := spans[0]
	if s.Started != 1 || s.Ended != 2 || s.Behavior != 3 || s.Digest != m.Digest() || string(s.Info) != `{"id":"x"}` ||
		out.Started != s.Started || out.Ended != s.Ended {
		t.Errorf("span %+v, outcome %+v", s, out)
	}
}

func TestBoottimeRises(t *testing.T) {
	a := Boottime()
	if b := Boottime(); a <= 0 || b < a {
		t.Errorf("%v then %v", a, b)
	}
}

func TestErrorDetail(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "conformance-wat"))
	for _, tt := range []struct{ detail, code, message, details string }{
		{`plain`, CodeHandlerError, "plain", ""},
		{``, CodeHandlerError, "", ""},
		{`{"code":"a.b-c_9","message":"m","details":{"x":1}}`, "a.b-c_9", "m", `{"x":1}`},
		{`{"message":"m","details":null}`, CodeHandlerError, "m", ""},
		{`{"code":"TIMEOUT","message":"m"}`, CodeHandlerError, `m (the guest's code "TIMEOUT" is not [a-z0-9_.-]{1,64})`, ""},
		{`{"code":"` + strings.Repeat("a", 65) + `"}`, CodeHandlerError, ` (the guest's code "` + strings.Repeat("a", 65) + `" is not [a-z0-9_.-]{1,64})`, ""},
		{`{"code":"a","retry_after":1}`, CodeHandlerError, `{"code":"a","retry_after":1}`, ""},
		{`{"code":1}`, CodeHandlerError, `{"code":1}`, ""},
		{`{"code":"a"} x`, CodeHandlerError, `{"code":"a"} x`, ""},
		{"a\xffb", CodeHandlerError, "a\ufffdb", ""},
	} {
		out := m.Run(t.Context(), Attempt{Params: []byte("fail-plain " + tt.detail)}, &fakeHost{})
		if out.Code != tt.code || out.Message != tt.message || string(out.Details) != tt.details || !out.Retryable || out.Class != ClassGuest {
			t.Errorf("%s: got %s %q %s", tt.detail, out.Code, out.Message, out.Details)
		}
	}
}

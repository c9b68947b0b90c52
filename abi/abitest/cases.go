package abitest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{payloadCases(), pieceCases(), failureCases(), hostCases(), logCases(), callCases(), timeCases(), endCases()} {
		all = append(all, group...)
	}
	return all
}

func payloadCases() []testCase {
	big := "sum " + strings.Repeat("0123456789abcdef", bigParams/16)
	binary := string([]byte{0, 1, 0xff, ' ', '\n', 0x80})
	return []testCase{
		{name: "echo", params: "echo hello", check: result("hello")},
		{name: "echo binary", params: "echo " + binary, check: result(binary)},
		{name: "echo keeps spaces", params: "echo  a  b ", check: result(" a  b ")},
		{name: "sum without argument", params: "sum", check: result(sumOf("sum"))},
		{name: "sum of big params", params: big, check: result(sumOf(big))},
		{name: "empty", params: "empty", check: func(t *testing.T, out runtime.Outcome, _ *recorder) { noResult(t, out) }},
		{
			name: "empty, result required", params: "empty",
			attempt: func(a *runtime.Attempt) { a.ResultRequired = true },
			check:   failure(false, runtime.CodeNoResult, "*"),
		},
		{name: "fill to the limit", params: fmt.Sprint("fill ", resultBytes), check: result(strings.Repeat("x", resultBytes))},
		{name: "fill over the limit", params: fmt.Sprint("fill ", resultBytes+1), check: failure(false, "too_big", "*")},
		{name: "unknown case", params: "no-such-case x", check: failure(false, "unknown_case", "*")},
		{name: "no params", params: "", check: failure(false, "unknown_case", "*")},
		{
			name: "info", params: "info",
			attempt: func(a *runtime.Attempt) { a.Info = []byte(`{"id":"x","attempt":3,"later":[1]}`) },
			check:   result(`{"id":"x","attempt":3,"later":[1]}`),
		},
		{name: "config absent", params: "config", check: result("none")},
		{
			name: "config", params: "config",
			attempt: func(a *runtime.Attempt) { a.Config = []byte(`{"k":1}`) },
			check:   result(`{"k":1}`),
		},
	}
}

func failureCases() []testCase {
	return []testCase{
		{name: "fail-retry", params: "fail-retry net.down try later", check: failure(true, "net.down", "try later")},
		{name: "fail-permanent", params: "fail-permanent bad_input not a number", check: failure(false, "bad_input", "not a number")},
		{name: "fail-plain", params: "fail-plain it broke", check: failure(true, runtime.CodeHandlerError, "it broke")},
		{
			name: "fail-details", params: "fail-details",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				failure(false, "with_details", "see details")(t, out, host)
				var details struct{ K []int }
				if err := json.Unmarshal(out.Details, &details); err != nil || len(details.K) != 2 {
					t.Errorf("details are %s", out.Details)
				}
			},
		},
		{
			name: "panic", params: "panic the-reason",
			check: func(t *testing.T, out runtime.Outcome, _ *recorder) {
				byTrap := out.Class == runtime.ClassTrap && strings.Contains(string(out.Stderr), "the-reason")
				bySDK := out.Class == runtime.ClassGuest && out.Retryable && strings.Contains(out.Message, "the-reason")
				if out.Kind != runtime.Failed || !byTrap && !bySDK {
					t.Errorf("got %s, stderr %q", describe(out), out.Stderr)
				}
			},
		},
		{name: "exit 3", params: "exit 3", check: failure(true, runtime.CodeHandlerError, "exit code 3")},
		{name: "exit 0", params: "exit 0", check: failure(false, runtime.CodeNoResult, "*")},
	}
}

func hostCases() []testCase {
	return []testCase{
		{
			name: "beat", params: "beat 3",
			host: script{signals: func(beats int) abi.Signals { return 1 << (beats - 1) }},
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				result("7")(t, out, host)
				same(t, "beats", host.beats, [][2]int64{{1, 3}, {2, 3}, {3, 3}})
				same(t, "notes", host.notes, []string{"step 1", "step 2", "step 3"})
			},
		},
		{name: "signals", params: "signals", host: script{signals: after(0, abi.SignalDraining|abi.SignalLeaseLost)}, check: result("6")},
		{
			name: "wait-cancel", params: "wait-cancel", host: script{signals: after(5, abi.SignalCancel)},
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				if out.Kind != runtime.Cancelled || len(host.beats) < 5 {
					t.Errorf("got %s after %d beats", describe(out), len(host.beats))
				}
			},
		},
		{
			name: "wait-drain", params: "wait-drain", host: script{signals: after(5, abi.SignalDraining)},
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				if out.Kind != runtime.Yielded || out.NextTime != 0 {
					t.Errorf("got %s", describe(out))
				}
				same(t, "checkpoints", host.saved, []string{"drained"})
			},
		},
		{
			name: "checkpoint", params: "checkpoint so far",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				result("so far")(t, out, host)
				same(t, "checkpoints", host.saved, []string{"so far"})
			},
		},
		{name: "checkpoint, lease lost", params: "checkpoint x", host: script{checkpoint: runtime.ErrLeaseLost}, check: failure(false, "errno_7", "*")},
		{name: "checkpoint, no leader", params: "checkpoint x", host: script{checkpoint: fmt.Errorf("no leader")}, check: failure(false, "errno_5", "*")},
		{
			name: "checkpoint over the limit", params: "checkpoint too long",
			attempt: func(a *runtime.Attempt) { a.CheckpointBytes = 4 },
			check:   failure(false, "errno_3", "*"),
		},
		{name: "resume without checkpoint", params: "resume", check: result("none")},
		{
			name: "resume", params: "resume",
			attempt: func(a *runtime.Attempt) { a.Checkpoint = []byte("from before") },
			check:   result("from before"),
		},
	}
}

func logCases() []testCase {
	return []testCase{
		{
			name: "log", params: "log",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				noResult(t, out)
				same(t, "log", host.logs, []string{"0 a trace", "1 a debug", "2 an info", "3 a warn", "4 an error"})
			},
		},
		{
			name: "stdout", params: "stdout to the log",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				noResult(t, out)
				same(t, "log", host.logs, []string{"2 to the log"})
			},
		},
		{
			name: "stderr", params: "stderr to the log",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				noResult(t, out)
				same(t, "log", host.logs, []string{"3 to the log"})
				if string(out.Stderr) != "to the log\n" {
					t.Errorf("the outcome has stderr %q", out.Stderr)
				}
			},
		},
	}
}

func timeCases() []testCase {
	return []testCase{
		{
			name: "clock", params: "clock",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				var now, left, mono int64
				if n, err := fmt.Sscanf(string(out.Result), "%d %d %d", &now, &left, &mono); n != 3 || err != nil {
					t.Fatalf("got %s", describe(out))
				}
				if at := time.UnixMilli(now); time.Since(at).Abs() > time.Hour {
					t.Errorf("the wall clock says %v", at)
				}
				if left <= 0 || left > runTimeout.Milliseconds() {
					t.Errorf("%d ms to the deadline, of %v", left, runTimeout)
				}
				if mono < 0 || mono > int64(runTimeout) {
					t.Errorf("the monotonic clock says %v", time.Duration(mono))
				}
			},
		},
		{
			name: "sleep", params: "sleep 20",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				result("slept")(t, out, host)
				if took := time.Duration(out.Ended - out.Started); took < 20*time.Millisecond {
					t.Errorf("slept 20 ms in %v", took)
				}
			},
		},
		{name: "yield", params: "yield", check: ends(runtime.Yielded, 0)},
		{name: "yield until", params: "yield 1795262400123", check: ends(runtime.Yielded, 1795262400123)},
		{
			name: "again", params: "again 1795262400123",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				result("again")(t, out, host)
				ends(runtime.Succeeded, 1795262400123)(t, out, host)
			},
		},
		{
			name: "later", params: "later 1795262400123",
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				failure(true, "later", "later")(t, out, host)
				ends(runtime.Failed, 1795262400123)(t, out, host)
			},
		},
		{name: "yield until the end of time", params: "yield " + strconv.Itoa(math.MaxInt64), check: ends(runtime.Yielded, math.MaxInt64)},
	}
}

// endCases are cases that are ended from outside.
func endCases() []testCase {
	return []testCase{
		{
			name: "run timeout", params: "wait-cancel",
			attempt: func(a *runtime.Attempt) { a.RunTimeout = 100 * time.Millisecond },
			check: func(t *testing.T, out runtime.Outcome, _ *recorder) {
				if out.Kind != runtime.Failed || out.Code != runtime.CodeTimeout || out.Class != runtime.ClassTimeout {
					t.Errorf("got %s, want a timeout", describe(out))
				}
			},
		},
		{
			name: "no heartbeat", params: "sleep 60000",
			attempt: func(a *runtime.Attempt) { a.HeartbeatTimeout = 50 * time.Millisecond },
			check: func(t *testing.T, out runtime.Outcome, _ *recorder) {
				if out.Kind != runtime.Failed || out.Code != runtime.CodeTimeout {
					t.Errorf("got %s, want a timeout", describe(out))
				}
			},
		},
	}
}

func ends(kind runtime.Kind, next int64) func(*testing.T, runtime.Outcome, *recorder) {
	return func(t *testing.T, out runtime.Outcome, _ *recorder) {
		t.Helper()
		if out.Kind != kind || out.NextTime != next {
			t.Errorf("got %s, want %s with next time %d", describe(out), kind, next)
		}
	}
}

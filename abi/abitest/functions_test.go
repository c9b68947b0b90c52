package abitest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

func readText(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadmeFunctions: every function of the ABI has its section in the specification: its signature, what it does to memory,
// what it answers, and an example that is part of the guest that TestReadmeExamples runs.
func TestReadmeFunctions(t *testing.T) {
	readme, examples := readText(t, "..", "README.md"), readText(t, guests, "functions.wat")
	m, err := wasmbin.Parse([]byte(readText(t, guests, "functions.wasm")))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`[a-z]+ (i32|i64)`)
	for _, i := range m.Imports {
		_, section, ok := strings.Cut(readme, "\n### "+i.Name+"\n\n`")
		signature, text, ok2 := strings.Cut(section, "`: ")
		if !ok || !ok2 {
			t.Errorf("%s: no section with a signature", i.Name)
			continue
		}
		text, _, _ = strings.Cut(text, "\n### ")
		got := strings.ReplaceAll(names.ReplaceAllString(strings.TrimPrefix(signature, i.Name), "$1"), ",", "")
		if want := strings.NewReplacer("-> (i32)", "-> i32", "-> (i64)", "-> i64", " -> ()", "").Replace(i.Type.String()); got != want {
			t.Errorf("%s: the signature is %s, want %s", i.Name, got, want)
		}
		for _, part := range []string{"\n- Memory: ", "\n- Answers: ", "```wat\n;; ", "(call $" + i.Name} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q", i.Name, part)
			}
		}
	}
	if len(m.Imports) != 8 {
		t.Errorf("%d functions", len(m.Imports))
	}
	blocks := strings.Split(readme, "```wat\n")[2:] // the first is echo.wat
	for _, b := range blocks {
		if code, _, _ := strings.Cut(b, "```"); !strings.Contains(examples, code) {
			t.Errorf("testdata/wasm/functions.wat does not have the example\n%s", code)
		}
	}
	if len(blocks) < len(m.Imports) {
		t.Errorf("%d examples", len(blocks))
	}
}

// TestReadmeExamples runs the examples of the specification.
func TestReadmeExamples(t *testing.T) {
	run := guest(t, "functions")
	number := func(n int32) func(*testing.T, runtime.Outcome, *recorder) {
		return result(string(binary.LittleEndian.AppendUint32(nil, uint32(n))))
	}
	long := strings.Repeat("abc", 5000)
	for _, tt := range []struct {
		name  string
		a     runtime.Attempt
		host  script
		check func(*testing.T, runtime.Outcome, *recorder)
	}{
		{"resumed", runtime.Attempt{Behavior: 0, Checkpoint: []byte{}}, script{}, number(1)},
		{"not resumed", runtime.Attempt{Behavior: 0}, script{}, number(0)},
		{"sum", runtime.Attempt{Behavior: 1, Params: []byte(long)}, script{}, number(5000 * ('a' + 'b' + 'c'))},
		{"sum of nothing", runtime.Attempt{Behavior: 1}, script{}, number(0)},
		{"answer", runtime.Attempt{Behavior: 2}, script{}, result("half done")},
		{"answer over the limit", runtime.Attempt{Behavior: 2, ResultBytes: 8}, script{}, failure(false, runtime.CodeHandlerError, "")},
		{"warn", runtime.Attempt{Behavior: 3}, script{}, func(t *testing.T, _ runtime.Outcome, host *recorder) {
			same(t, "log", host.logs, []string{"3 half done"})
		}},
		{"steps", runtime.Attempt{Behavior: 4}, script{}, func(t *testing.T, out runtime.Outcome, host *recorder) {
			noResult(t, out)
			if len(host.beats) != 10 || host.beats[9] != [2]int64{1000, 1000} || host.notes[9] != "half done" {
				t.Errorf("beats %v with %q", host.beats, host.notes)
			}
		}},
		{"steps, cancelled", runtime.Attempt{Behavior: 4}, script{signals: after(3, abi.SignalCancel)}, func(t *testing.T, out runtime.Outcome, host *recorder) {
			if out.Kind != runtime.Cancelled || len(host.beats) != 3 {
				t.Errorf("got %s after %d beats", describe(out), len(host.beats))
			}
		}},
		{"stay", runtime.Attempt{Behavior: 5}, script{signals: after(0, abi.SignalCancel)}, number(0)},
		{"leave", runtime.Attempt{Behavior: 5}, script{signals: after(0, abi.SignalDraining)}, number(1)},
		{"time left", runtime.Attempt{Behavior: 6, RunTimeout: time.Hour}, script{}, number(1)},
		{"no time left", runtime.Attempt{Behavior: 6, RunTimeout: 9 * time.Second}, script{}, number(0)},
		{"save", runtime.Attempt{Behavior: 7}, script{}, func(t *testing.T, out runtime.Outcome, host *recorder) {
			number(0)(t, out, host)
			same(t, "checkpoints", host.saved, []string{"half done"})
		}},
		{"save without a leader", runtime.Attempt{Behavior: 7}, script{checkpoint: errors.New("no leader")}, number(int32(abi.EAGAIN))},
		{"random", runtime.Attempt{Behavior: 8}, script{}, func(t *testing.T, out runtime.Outcome, host *recorder) {
			if len(out.Result) != 4 {
				t.Errorf("got %s", describe(out))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := &recorder{script: tt.host}
			tt.check(t, run(t, tt.a, host), host)
		})
	}
}

// TestReadmeNumbers: every number of the ABI is in the specification's tables.
func TestReadmeNumbers(t *testing.T) {
	readme := readText(t, "..", "README.md")
	for _, row := range []string{
		fmt.Sprintf("\n| %d params |", abi.Params), fmt.Sprintf("\n| %d info |", abi.Info), fmt.Sprintf("\n| %d checkpoint |", abi.Checkpoint),
		fmt.Sprintf("\n| %d response |", abi.Response), fmt.Sprintf("\n| %d config |", abi.Config), fmt.Sprintf("\n| %d result |", abi.Result),
		fmt.Sprintf("\n| %d error detail |", abi.ErrorDetail), fmt.Sprintf("\n| %d progress note |", abi.Progress),
		fmt.Sprintf("\n| %d manifest |", abi.Manifest), fmt.Sprintf("\n| %d next time |", abi.NextTime),
		fmt.Sprintf("\n| %d ok |", abi.OutcomeOK), fmt.Sprintf("\n| %d retryable failure |", abi.OutcomeRetryable),
		fmt.Sprintf("\n| %d permanent failure |", abi.OutcomePermanent), fmt.Sprintf("\n| %d cancelled |", abi.OutcomeCancelled),
		fmt.Sprintf("\n| %d yield |", abi.OutcomeYield),
		fmt.Sprintf("%d `ENOSYS`", abi.ENOSYS), fmt.Sprintf("%d `EINVAL`", abi.EINVAL), fmt.Sprintf("%d `E2BIG`", abi.E2BIG),
		fmt.Sprintf("%d `ENOENT`", abi.ENOENT), fmt.Sprintf("%d `EAGAIN`", abi.EAGAIN), fmt.Sprintf("%d `EDENIED`", abi.EDENIED),
		fmt.Sprintf("%d `ECONFLICT`", abi.ECONFLICT),
		fmt.Sprintf("\n| %d checkpoint.save |", abi.OpCheckpointSave), fmt.Sprintf("\n| %d random |", abi.OpRandom),
		fmt.Sprintf("\n| %d op.partitions |", abi.OpPartitions), fmt.Sprintf("\n| %d blob.size |", abi.OpBlobSize),
		fmt.Sprintf("\n| %d span.begin |", abi.OpSpanBegin), fmt.Sprintf("\n| %d span.end |", abi.OpSpanEnd),
		fmt.Sprintf("\n| %d blob.read |", abi.OpBlobRead), fmt.Sprintf("exit code %d (`EX_TEMPFAIL`)", abi.ExitRetryable),
	} {
		if !strings.Contains(readme, row) {
			t.Errorf("abi/README.md has no %q", row)
		}
	}
}

// guest loads a committed guest.
func guest(t *testing.T, name string) func(*testing.T, runtime.Attempt, *recorder) runtime.Outcome {
	t.Helper()
	wasm := []byte(readText(t, guests, name+".wasm"))
	engine, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	module, err := engine.Load(t.Context(), runtime.Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, a runtime.Attempt, host *recorder) runtime.Outcome {
		t.Helper()
		return module.Run(t.Context(), a, host)
	}
}

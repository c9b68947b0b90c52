package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// made is a segment as readers of the index see it.
type made struct {
	File    string
	Rows    int64
	Values  int64
	Missing int64
	Runs    []struct{ Attempt, From int64 }
	Index   map[string][]int64
}

// file makes a table of two columns; every tenth row lacks the second.
func file(rows int) string {
	random := rand.New(rand.NewPCG(1, uint64(rows)))
	var text strings.Builder
	for i := range rows {
		if i%10 == 9 {
			fmt.Fprintf(&text, "%d\n", i)
		} else {
			fmt.Fprintf(&text, "%d\tcity \"%d\" é\n", i, random.IntN(50))
		}
	}
	return text.String()
}

// plain indexes column n the plain way.
func plain(text string, n int) (index map[string][]int64, rows, missing int64) {
	index = map[string][]int64{}
	offset := int64(0)
	for line := range strings.Lines(text) {
		rows++
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); n < len(f) {
			index[f[n]] = append(index[f[n]], offset)
		} else {
			missing++
		}
		offset += int64(len(line))
	}
	return index, rows, missing
}

// partition is what a partition of one file is given.
func partition(text string, column int, more string) *sdktest.Host {
	blob := sdktest.BlobName([]byte(text))
	return &sdktest.Host{
		Params: fmt.Appendf(nil, `{"operation":"op-1","partition":"part-000.tsv","target":"orders","object":"by-city",
			"arg":{"files":{"part-000.tsv":{"$blob":%q}},"column":%d%s}}`, blob, column, more),
		Blobs: map[string][]byte{blob: []byte(text)},
	}
}

func checkSegment(t *testing.T, text string, column int, r sdktest.Result) made {
	t.Helper()
	var got made
	if err := json.Unmarshal(r.Result, &got); err != nil || r.Outcome != abi.OutcomeOK {
		t.Fatalf("%.300v: %v", r.String(), err)
	}
	index, rows, missing := plain(text, column)
	if !reflect.DeepEqual(got.Index, index) {
		t.Errorf("column %d: an index of %d values, want %d, or their rows differ", column, len(got.Index), len(index))
	}
	if got.File != "part-000.tsv" || got.Rows != rows || got.Values != int64(len(index)) || got.Missing != missing {
		t.Errorf("column %d: %s, %d rows, %d values, %d missing; want %d, %d, %d",
			column, got.File, got.Rows, got.Values, got.Missing, rows, len(index), missing)
	}
	return got
}

func TestIndex(t *testing.T) {
	for _, text := range []string{"", "a\tb", "a\tb\n", "\n\n", "a\t\n\tb\n", file(30_000)} {
		for column := range 3 {
			r := sdktest.Run(t, "build-index", partition(text, column, ""))
			if got := checkSegment(t, text, column, r); len(got.Runs) != 1 || got.Runs[0].Attempt != 1 || got.Runs[0].From != 0 {
				t.Errorf("%+v", got.Runs)
			}
		}
	}
}

// TestGoesOnFromCheckpoint: a worker that drains, and one that dies, cost what was done since the last checkpoint, no more.
func TestGoesOnFromCheckpoint(t *testing.T) {
	text := file(30_000)
	h := partition(text, 1, `,"checkpoint_rows":2500`)
	h.OnBeat = func(n int) sdk.Signals {
		switch n {
		case 9: // every 1,000 rows and every 2,500: at row 7,500, before that is saved
			panic("the worker dies")
		case 15:
			return sdk.SignalDraining
		}
		return 0
	}
	if r := sdktest.Run(t, "build-index", h); r.Outcome != abi.OutcomeRetryable || len(h.Saved) != 2 {
		t.Fatalf("%v after %d checkpoints", r, len(h.Saved))
	}
	if r := sdktest.Run(t, "build-index", h); r.Outcome != abi.OutcomeYield {
		t.Fatal(r)
	}
	saved := h.Saved[len(h.Saved)-1]
	got := checkSegment(t, text, 1, sdktest.Run(t, "build-index", h))
	if len(got.Runs) != 3 || got.Runs[1].From != 5000 || got.Runs[2].Attempt != 3 || got.Runs[2].From <= 5000 {
		t.Errorf("%+v", got.Runs)
	}
	if x, ok := decode(saved); !ok || x.rows != got.Runs[2].From {
		t.Errorf("the checkpoint of the attempt that drained is not where the next one began: %v, %+v", ok, got.Runs)
	}
}

func TestSavesEverySecond(t *testing.T) {
	text := file(30_000)
	h := partition(text, 1, "")
	h.BeatTakes = 250 * time.Millisecond // 30 beats while it reads
	checkSegment(t, text, 1, sdktest.Run(t, "build-index", h))
	if len(h.Saved) != 7 {
		t.Errorf("%d checkpoints in 7.5 s", len(h.Saved))
	}
	if last := h.Beats[len(h.Beats)-1]; last != (sdktest.Beat{Done: int64(len(text)), Total: int64(len(text))}) {
		t.Errorf("at the end it was at %+v", last)
	}
}

func TestCheckpointRefused(t *testing.T) {
	text := file(10_000)
	for err, outcome := range map[error]abi.Outcome{sdk.ErrUnavailable: abi.OutcomeOK, sdk.ErrTooLarge: abi.OutcomeOK, sdk.ErrLeaseLost: abi.OutcomeRetryable} {
		h := partition(text, 1, `,"checkpoint_rows":1000`)
		h.OnSave = func([]byte) error { return err }
		if r := sdktest.Run(t, "build-index", h); r.Outcome != outcome {
			t.Errorf("%v: %.300v", err, r.String())
		}
	}
}

func TestCancel(t *testing.T) {
	h := partition(file(10_000), 1, "")
	h.OnBeat = func(int) sdk.Signals { return sdk.SignalCancel }
	if r := sdktest.Run(t, "build-index", h); r.Outcome != abi.OutcomeCancelled || len(h.Beats) != 1 {
		t.Errorf("%v after %d beats", r, len(h.Beats))
	}
}

func TestCheckpointCode(t *testing.T) {
	x := &index{end: 99, rows: 6, missing: 1, entries: map[string]*entry{}, runs: []run{{1, 0}, {3, 4}}}
	for i, v := range []string{"a", "", "a", "é\n", "a"} {
		x.add([]byte(v), int64(i)*1_000_000_007)
	}
	text := x.encode()
	got, ok := decode(text)
	if !ok || !reflect.DeepEqual(got, x) {
		t.Fatalf("%+v, %v", got, ok)
	}
	for n := range text {
		if y, ok := decode(text[:n]); ok {
			t.Errorf("the first %d of %d bytes: %+v", n, len(text), y)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 10_000 { // whatever it is, decode returns
		noise := append([]byte{checkpointVersion}, text[1:]...)
		for range 1 + random.IntN(4) {
			noise[1+random.IntN(len(noise)-1)] = byte(random.Uint32())
		}
		decode(noise)
	}
	// One that makes no sense is as good as none.
	table := file(3000)
	h := partition(table, 1, "")
	for _, bad := range []string{"", "{}", "\x02", string(text[:len(text)-1]), string((&index{end: 1 << 40}).encode())} {
		h.Checkpoint = []byte(bad)
		checkSegment(t, table, 1, sdktest.Run(t, "build-index", h))
	}
}

func TestRunsAreBounded(t *testing.T) {
	h := partition(file(5_000), 1, "")
	h.OnBeat = func(n int) sdk.Signals {
		if len(h.Saved) < 150 {
			return sdk.SignalDraining
		}
		return 0
	}
	var r sdktest.Result
	h.Checkpoint = (&index{runs: make([]run, maxRuns)}).encode()
	for range 10 {
		if r = sdktest.Run(t, "build-index", h); r.Outcome == abi.OutcomeOK {
			break
		}
	}
	if got := checkSegment(t, file(5_000), 1, r); len(got.Runs) != maxRuns || got.Runs[maxRuns-1].From == 0 {
		t.Errorf("%d runs, the last %+v", len(got.Runs), got.Runs[len(got.Runs)-1])
	}
}

func TestUnreadable(t *testing.T) {
	h := partition("a\tb\n", 1, "")
	h.Blobs = nil
	if r := sdktest.Run(t, "build-index", h); r.Outcome != abi.OutcomeRetryable || r.Code != "unreadable" {
		t.Error(r)
	}
}

func TestBadParams(t *testing.T) {
	name := sdktest.BlobName(nil)
	for arg, code := range map[string]string{
		"null":                     "bad_params",
		`{"files":{}}`:             "bad_params",
		`{"column":1}`:             "no_file",
		`{"files":{},"column":64}`: "bad_params",
		`{"files":{},"column":1}`:  "no_file",
		`{"files":{"b":{"$blob":"` + name + `"}},"column":1}`: "no_file",
		`{"files":{"a":"` + name + `"},"column":1}`:           "bad_params",
	} {
		r := sdktest.Run(t, "build-index", &sdktest.Host{Params: []byte(`{"operation":"op-1","partition":"a","arg":` + arg + `}`)})
		if r.Outcome != abi.OutcomePermanent || r.Code != code {
			t.Errorf("%s: %v", arg, r)
		}
	}
}

func TestCleanup(t *testing.T) {
	h := &sdktest.Host{Params: []byte(`{"operation":"op-1","partition":"part-000.tsv","target":"orders","object":"by-city","arg":{},"token":77}`)}
	if r := sdktest.Run(t, "build-index-cleanup", h); string(r.Result) != `{"file":"part-000.tsv","token":77}` || len(h.Logs) != 1 {
		t.Error(r, h.Logs)
	}
}

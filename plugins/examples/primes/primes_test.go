package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

func params(limit uint64) []byte { return fmt.Appendf(nil, `{"limit":%d}`, limit) }

func result(count int) string { return fmt.Sprintf(`{"count":%d}`, count) }

// TestKnownCounts compares with the published values of the prime-counting function.
func TestKnownCounts(t *testing.T) {
	for limit, count := range map[uint64]int{
		0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 9: 4, 10: 4, 25: 9, 100: 25, 1000: 168, 1_000_000: 78498, 10_000_000: 664579,
	} {
		r := sdktest.Run(t, "primes", &sdktest.Host{Params: params(limit)})
		if r.Outcome != abi.OutcomeOK || string(r.Result) != result(count) {
			t.Errorf("limit %d: %v, want %d", limit, r, count)
		}
	}
}

// TestSegmentEdges compares with a plain sieve around the ends of segments.
func TestSegmentEdges(t *testing.T) {
	const most = 2*segmentSpan + 8
	primes := append([]uint32{2}, oddPrimes(most)...)
	s := newSieve(most)
	for _, middle := range []uint64{16, segmentSpan, 2 * segmentSpan} {
		for limit := middle - 8; limit <= middle+8; limit++ {
			want, _ := slices.BinarySearch(primes, uint32(limit)+1)
			got := int64(1)
			for start := uint64(0); start < limit; start += segmentSpan {
				got += s.count(start, min(start+segmentSpan, limit))
			}
			if got != int64(want) {
				t.Errorf("limit %d: %d, want %d", limit, got, want)
			}
		}
	}
}

func TestRoot(t *testing.T) {
	for _, n := range []uint64{0, 1, 2, 3, 4, 99, 100, 101, maxLimit - 1, maxLimit} {
		if r := root(n); r*r > n || (r+1)*(r+1) <= n {
			t.Errorf("root(%d) = %d", n, r)
		}
	}
}

func TestBadParams(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `{"limit":"9"}`, `{"limit":-1}`, `{"limit":1.5}`, `{"limit":1000000000001}`, "[1]", "{"} {
		r := sdktest.Run(t, "primes", &sdktest.Host{Params: []byte(text)})
		if r.Outcome != abi.OutcomePermanent || r.Code != "bad_params" {
			t.Errorf("%q: %v", text, r)
		}
	}
}

const (
	limit = 5_000_000 // 10 segments
	count = 348513
)

// TestProgress: a heartbeat after every segment, a checkpoint about every second of the host's clock.
func TestProgress(t *testing.T) {
	h := &sdktest.Host{Params: params(limit), BeatTakes: 400 * time.Millisecond}
	r := sdktest.Run(t, "primes", h)
	if string(r.Result) != result(count) {
		t.Fatal(r)
	}
	if len(h.Beats) != 10 || h.Beats[0] != (sdktest.Beat{Done: segmentSpan, Total: limit}) || h.Beats[9] != (sdktest.Beat{Done: limit, Total: limit}) {
		t.Errorf("beats: %v", h.Beats)
	}
	if len(h.Saved) != 3 {
		t.Errorf("9 segments of 400 ms should give 3 checkpoints: %q", h.Saved)
	}
}

func TestCancel(t *testing.T) {
	h := &sdktest.Host{Params: params(limit), OnBeat: func(n int) sdk.Signals {
		if n == 3 {
			return sdk.SignalCancel
		}
		return 0
	}}
	if r := sdktest.Run(t, "primes", h); r.Outcome != abi.OutcomeCancelled || len(h.Beats) != 3 {
		t.Errorf("%v after %d segments", r, len(h.Beats))
	}
}

// TestDrainAndResume drains after every segment: many attempts, one right count.
func TestDrainAndResume(t *testing.T) {
	h := &sdktest.Host{Params: params(limit), OnBeat: func(int) sdk.Signals { return sdk.SignalDraining }}
	var r sdktest.Result
	attempts := 1
	for ; attempts < 100; attempts++ {
		if r = sdktest.Run(t, "primes", h); r.Outcome != abi.OutcomeYield {
			break
		}
	}
	if string(r.Result) != result(count) || attempts != 10 {
		t.Errorf("%v after %d attempts", r, attempts)
	}
	if len(h.Beats) != 10 {
		t.Errorf("%d segments were computed, want each of 10 once", len(h.Beats))
	}
	if !strings.HasPrefix(h.Logs[0].Message, `going on from the checkpoint {"done":524288,"count":43390}`) {
		t.Errorf("log: %q", h.Logs[0])
	}
}

func TestCheckpointsThatMakeNoSense(t *testing.T) {
	for _, text := range []string{"", "{", "null", `{"done":10}`, `{"done":-2,"count":1}`, `{"done":11,"count":5}`, `{"done":6000000,"count":1}`} {
		r := sdktest.Run(t, "primes", &sdktest.Host{Params: params(limit), Checkpoint: []byte(text)})
		if string(r.Result) != result(count) {
			t.Errorf("checkpoint %q: %v", text, r)
		}
	}
}

// TestSaveFails: no leader is no reason to stop, a lost lease is.
func TestSaveFails(t *testing.T) {
	h := &sdktest.Host{Params: params(limit), BeatTakes: time.Second, OnSave: func([]byte) error { return sdk.ErrUnavailable }}
	if r := sdktest.Run(t, "primes", h); string(r.Result) != result(count) || len(h.Logs) == 0 {
		t.Errorf("%v, log %v", r, h.Logs)
	}
	h = &sdktest.Host{Params: params(limit), BeatTakes: time.Second, OnSave: func([]byte) error { return sdk.ErrLeaseLost }}
	if r := sdktest.Run(t, "primes", h); r.Outcome != abi.OutcomeRetryable || len(h.Beats) != 1 {
		t.Errorf("%v after %d segments", r, len(h.Beats))
	}
}

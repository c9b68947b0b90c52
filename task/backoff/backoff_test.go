package backoff_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/taskrt/taskrt/task/backoff"
)

// TestWaitIsExact: short waits grow, too, and every one is within half a millisecond and one microsecond of the
// exact value (SPEC R2).
func TestWaitIsExact(t *testing.T) {
	for _, c := range []struct {
		initial, want int64
		thousandths   int64
		failures      int64
	}{{10, 67, 1050, 40}, {1, 2, 1900, 2}, {1, 323, 1900, 10}, {1, 1, 1000, 1 << 62}, {3, 0, 1, 3}, {1000, 3_600_000, 2000, 1 << 62}, {7, 0, 0, 2}, {7, 7, 0, 1}} {
		r := backoff.Policy{Initial: c.initial, Thousandth: c.thousandths, Max: 3_600_000}
		if got := r.Wait("id", 1, c.failures); got != c.want {
			t.Errorf("%d ms × %d/1000, %d failures: %d ms, want %d", c.initial, c.thousandths, c.failures, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	limit := big.NewRat(501, 1000)
	for range 3000 {
		r := backoff.Policy{Initial: (rng.Int64N(1 << (1 + rng.UintN(32)))), Thousandth: 1 + rng.Int64N(1<<(1+rng.UintN(13))), Max: 1 << (10 + rng.UintN(33))}
		n := rng.Int64N(1 << (1 + rng.UintN(9)))
		exact := new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(r.Thousandth), big.NewInt(n), nil), new(big.Int).Exp(big.NewInt(1000), big.NewInt(n), nil))
		exact.Mul(exact, new(big.Rat).SetInt64(r.Initial))
		if top := new(big.Rat).SetInt64(r.Max); exact.Cmp(top) > 0 {
			exact = top
		}
		got := new(big.Rat).SetInt64(r.Wait("id", 1, n+1))
		if diff := got.Sub(got, exact); diff.Abs(diff).Cmp(limit) > 0 {
			t.Fatalf("%+v after %d failures: %d ms, which is %s ms off", r, n+1, r.Wait("id", 1, n+1), diff.FloatString(6))
		}
	}
}

func TestWait(t *testing.T) {
	plain := backoff.Policy{Initial: 1000, Thousandth: 2000, Max: 60_000}
	for failures, want := range map[int64]int64{1: 1000, 2: 2000, 3: 4000, 6: 32_000, 7: 60_000, 1 << 40: 60_000} {
		if got := plain.Wait("id", 1, failures); got != want {
			t.Errorf("after %d failures: %d, want %d", failures, got, want)
		}
	}
	for _, r := range []backoff.Policy{
		{}, {Initial: -1, Max: -5, Thousandth: -3, Jitter: -1},
		{Initial: 1 << 62, Thousandth: 1 << 62, Max: 1<<63 - 1, Jitter: 1 << 40},
		{Initial: 7, Thousandth: 1, Max: 9},
	} {
		if got := r.Wait("id", 1, 1000); got < 0 || got > max(r.Max, 0) {
			t.Errorf("%+v: %d", r, got)
		}
	}
	jittered := plain
	jittered.Jitter = 10
	seen := map[int64]bool{}
	for attempt := range int64(200) {
		got := jittered.Wait("some-id", attempt, 1)
		if got < 900 || got > 1000 {
			t.Fatalf("attempt %d: %d", attempt, got)
		}
		if got != jittered.Wait("some-id", attempt, 1) {
			t.Fatal("not deterministic")
		}
		seen[got] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d different waits of 101", len(seen))
	}
	// Part of the replicated contract: these must never change.
	for i, want := range []int64{goldenJitter0, goldenJitter1} {
		if got := jittered.Wait("some-id", int64(i), 1); got != want {
			t.Errorf("attempt %d: %d, was %d", i, got, want)
		}
	}
}

const goldenJitter0, goldenJitter1 = 972, 938

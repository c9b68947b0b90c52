package task_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestRetryIntervalIsExact: short intervals grow, too, and every one is within half a millisecond and one microsecond of the
// exact value (SPEC R2).
func TestRetryIntervalIsExact(t *testing.T) {
	for _, c := range []struct {
		initial, want task.Millis
		thousandths   int64
		failures      int64
	}{{10, 67, 1050, 40}, {1, 2, 1900, 2}, {1, 323, 1900, 10}, {1, 1, 1000, 1 << 62}, {3, 0, 1, 3}, {1000, 3_600_000, 2000, 1 << 62}, {7, 0, 0, 2}, {7, 7, 0, 1}} {
		r := task.Retry{InitialInterval: c.initial, MultiplierThousandth: c.thousandths, MaxInterval: 3_600_000}
		if got := r.Interval("id", 1, c.failures); got != c.want {
			t.Errorf("%d ms × %d/1000, %d failures: %d ms, want %d", c.initial, c.thousandths, c.failures, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	limit := big.NewRat(501, 1000)
	for range 3000 {
		r := task.Retry{InitialInterval: task.Millis(rng.Int64N(1 << (1 + rng.UintN(32)))), MultiplierThousandth: 1 + rng.Int64N(1<<(1+rng.UintN(13))), MaxInterval: 1 << (10 + rng.UintN(33))}
		n := rng.Int64N(1 << (1 + rng.UintN(9)))
		exact := new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(r.MultiplierThousandth), big.NewInt(n), nil), new(big.Int).Exp(big.NewInt(1000), big.NewInt(n), nil))
		exact.Mul(exact, new(big.Rat).SetInt64(int64(r.InitialInterval)))
		if top := new(big.Rat).SetInt64(int64(r.MaxInterval)); exact.Cmp(top) > 0 {
			exact = top
		}
		got := new(big.Rat).SetInt64(int64(r.Interval("id", 1, n+1)))
		if diff := got.Sub(got, exact); diff.Abs(diff).Cmp(limit) > 0 {
			t.Fatalf("%+v after %d failures: %d ms, which is %s ms off", r, n+1, r.Interval("id", 1, n+1), diff.FloatString(6))
		}
	}
}

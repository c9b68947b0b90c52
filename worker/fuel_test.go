package worker

import (
	"slices"

	"github.com/taskrt/taskrt/worker/stream"
)

// guestFuel is the fuel that every guest of a bench uses.
const guestFuel = 4711

// checkFuel demands that every report of an attempt's end says what its guest used, if a guest ran. The way of the
// outcome does not matter.
func (b *bench) checkFuel() {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if b.loads == 0 { // the guests are real, or there are none
		return
	}
	reps, _ := b.reports()
	for _, r := range reps {
		token, fuel := ending(r)
		want := int64(0)
		if slices.Contains(b.metered, token) {
			want = guestFuel
		}
		if token != 0 && fuel != want {
			b.t.Errorf("fuel %d, want %d: %+v", fuel, want, r)
		}
	}
}

// ending returns the token and the fuel of a report that ends an attempt. For any other report the token is 0.
func ending(r stream.Report) (token uint64, fuel int64) {
	switch {
	case r.Finish != nil:
		return r.Finish.Token, r.Finish.Fuel
	case r.Snooze != nil:
		return r.Snooze.Token, r.Snooze.Fuel
	case r.GiveBack != nil:
		return r.GiveBack.Token, r.GiveBack.Fuel
	}
	return 0, 0
}

package worker

import (
	"slices"

	"github.com/taskrt/taskrt/worker/stream"
)

// guestFuel is what every guest uses that a bench loads.
const guestFuel = 4711

// checkFuel: every report that ends an attempt says what its guest used, if one ran, whatever became of the outcome on its way.
func (b *bench) checkFuel() {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if b.loads == 0 { // real guests, or none
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

// ending returns what a report that ends an attempt says; 0 for any other.
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

package worker

import (
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// guestFuel is the fuel that every guest of a bench uses.
const guestFuel = 4711

// guestMemory is the memory that every guest of a bench uses at most, and guestPages what records say of it.
const (
	guestMemory = 2*task.PageBytes + 1
	guestPages  = 3
)

// checkFuel demands that every report of an attempt's end says what its guest used (SPEC U1), if a guest ran. The way of the
// outcome does not matter.
func (b *bench) checkFuel() {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if b.loads == 0 { // the guests are real, or there are none
		return
	}
	reps, _ := b.reports()
	for _, r := range reps {
		token, fuel, pages := ending(r)
		want, wantPages := int64(0), int64(0)
		if slices.Contains(b.metered, token) {
			want, wantPages = guestFuel, guestPages
		}
		if token != 0 && (fuel != want || pages != wantPages) {
			b.t.Errorf("fuel %d and %d pages, want %d and %d: %+v", fuel, pages, want, wantPages, r)
		}
	}
}

// ending returns the token, the fuel and the pages of a report that ends an attempt. For any other report the token is 0.
func ending(r stream.Report) (token uint64, fuel, pages int64) {
	switch {
	case r.Finish != nil:
		return r.Finish.Token, r.Finish.Fuel, r.Finish.Pages
	case r.Snooze != nil:
		return r.Snooze.Token, r.Snooze.Fuel, r.Snooze.Pages
	case r.GiveBack != nil:
		return r.GiveBack.Token, r.GiveBack.Fuel, r.GiveBack.Pages
	}
	return 0, 0, 0
}

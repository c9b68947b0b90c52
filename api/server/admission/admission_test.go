package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAdmission: under ten times the load that a node can answer, it takes as much as it can, and answers in time what it
// takes.
func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, seconds = 8000, 5 // the node answers rate requests per second
		var a Control
		var queue []time.Time
		taken, refused, worst := 0, 0, time.Duration(0)
		for tick := range seconds * 1000 {
			for range 10 * rate / 1000 {
				if a.Enter(1) {
					queue = append(queue, time.Now())
					taken++
				} else {
					refused++
				}
			}
			time.Sleep(time.Millisecond) // in the bubble's time
			for range min(len(queue), rate/1000) {
				if a.Leave(1, true); tick > 1000 {
					worst = max(worst, time.Since(queue[0]))
				}
				queue = queue[1:]
			}
		}
		if most := wait * 12 / 10; worst > most {
			t.Errorf("one waited for %v, more than %v", worst, most)
		}
		if taken < rate*seconds*99/100 || refused < 8*rate*seconds {
			t.Errorf("%d taken, %d refused", taken, refused)
		}
	})
}

// TestAdmissionKnows: the rate is measured only while the node has enough to do, and counts only served requests.
func TestAdmissionKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Control
		fill := func() (n int) {
			for a.Enter(1) {
				n++
			}
			return n
		}
		// Requests one after the other do not show how many the node could answer at the same time.
		for range 100 {
			if !a.Enter(1) {
				t.Fatal("refused, with nothing under way")
			}
			time.Sleep(10 * time.Millisecond)
			a.Leave(1, true)
		}
		if n := fill(); n != First {
			t.Fatalf("%d at first", n)
		}
		// At 100 per second the least is taken, which is always taken. Requests that are refused later do not count.
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			for range 5 {
				a.Leave(1, false)
				a.Enter(1)
			}
			a.Leave(1, true)
			a.Enter(1)
			fill()
		}
		if a.rate < 90 || a.rate > 110 || a.underWay != least {
			t.Fatalf("%.0f per second, %d under way", a.rate, a.underWay)
		}
		// The more requests the node then answers, in groups, the more it takes, also after a minute without load.
		for range 100 {
			time.Sleep(20 * time.Millisecond)
			for range 200 {
				a.Leave(1, true)
			}
			fill()
		}
		time.Sleep(time.Minute)
		a.Enter(1)
		if a.limit() < 900 || a.limit() > 1100 {
			t.Fatalf("%.0f per second, limit %d", a.rate, a.limit())
		}
		// If nothing is answered any more, the node takes only the least.
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			a.Enter(1)
		}
		if a.limit() != least || a.rate < 1 {
			t.Fatalf("%.0f per second, limit %d", a.rate, a.limit())
		}
	})
}

// TestAdmissionWeighs: a large request weighs more. Yet two requests of any size are always taken.
func TestAdmissionWeighs(t *testing.T) {
	t.Parallel()
	if small, large := Weight(make([]byte, 300)), Weight(make([]byte, 330<<10)); small != 1 || large != 331 {
		t.Errorf("%d, %d", small, large)
	}
	var a Control
	a.rate = 1
	for i := range 3 {
		if got, want := a.Enter(least), i < few; got != want {
			t.Errorf("large one %d: %t", i, got)
		}
	}
	a.Leave(least, true)
	a.Leave(least, true)
	for range least / 8 {
		if !a.Enter(8) {
			t.Fatalf("refused, with %d under way", a.underWay)
		}
	}
	if a.Enter(1) || a.requests != least/8 {
		t.Errorf("%d requests are under way, of weight %d", a.requests, a.underWay)
	}
}

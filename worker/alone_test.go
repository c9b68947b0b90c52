package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/worker/stream"
)

// TestAloneTakesOne: a worker that is alone says so. It has room for one attempt, and for none after it (SPEC L5).
func TestAloneTakesOne(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.at(time.Millisecond)
		hellos, _ := b.hellos()
		if h := hellos[0]; !h.Alone || h.Isolates || h.Slots != 1 || h.Leases != 1 || h.Credits != 1 {
			t.Errorf("%+v", h)
		}
		b.assign(7)
		b.at(3 * time.Second)
		credits, _ := all(b.hub, func(f stream.Frame) (*stream.Credits, bool) { return f.Credits, f.Credits != nil })
		if len(credits) == 0 || slices.ContainsFunc(credits[1:], func(c *stream.Credits) bool { return c.Free+c.Ahead != 0 }) {
			t.Errorf("credits: %d, the last %+v", len(credits), credits[len(credits)-1])
		}
		if _, ended := b.runs(); ended != 1 {
			t.Errorf("%d ended", ended)
		}
	}, func(c *Config) { c.Alone, c.Slots = true, 1 })
}

// TestOwnerIsToldOfTheSession: the owner hears of each right to execute and when it began. It hears when nothing
// executes any more.
func TestOwnerIsToldOfTheSession(t *testing.T) {
	var told []Held
	inBubble(t, lasts(time.Minute), func(b *bench) {
		b.assign(7)
		b.at(ttl/2 + time.Second)
		if len(told) < 2 || told[0].Session != 1 || told[0].TTL != ttl || told[0].Sent != 0 || told[1].Sent != ttl/renewFraction {
			t.Fatalf("%+v", told)
		}
		last := told[len(told)-1]
		if at := last.Sent + percent(ttl, overrunPercent); last.Overdue(at-1) || !last.Overdue(at) {
			t.Errorf("%+v is overdue at the wrong time", last)
		}
		b.send(stream.Frame{NotFound: true})
		b.at(ttl/2 + 2*time.Second)
		if i := slices.Index(told, Held{}); i < 0 || i+1 >= len(told) || told[i+1].Session != 2 {
			t.Errorf("%+v: not told of the end, and of the next session after it", told)
		}
	}, func(c *Config) { c.OnSession = func(h Held) { told = append(told, h) } })
}

// TestOwnerIsToldOfSuspects: the owner hears what the leader says, and hears it anew over each connection.
func TestOwnerIsToldOfSuspects(t *testing.T) {
	var told []bool
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.at(time.Millisecond)
		b.send(stream.Frame{Suspects: &stream.Suspects{Wait: true}})
		b.at(2 * time.Millisecond)
		b.cut()
		b.heal()
		b.at(time.Second)
		if hellos, _ := b.hellos(); !hellos[0].Isolates {
			t.Errorf("%+v", hellos[0])
		}
		if !slices.Equal(told, []bool{false, true, false}) {
			t.Errorf("%v", told)
		}
	}, func(c *Config) { c.Isolates, c.OnSuspects = true, func(wait bool) { told = append(told, wait) } })
}

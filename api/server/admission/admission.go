// Package admission bounds the work that is being added to a node by the time that it takes (SPEC H3).
package admission

import (
	"sync"
	"time"
)

// A request that adds work waits for all that are under way before it. So time bounds
// how many are under way: if they are more than this node answers in wait, the next is refused before its body is
// read. Requests that report, look or steer are not counted.
const (
	wait   = 100 * time.Millisecond
	unit   = 1 << 10                // so many bytes of a body count as much as a small request: they take about as long to check and store
	least  = 128                    // this weight is always taken: group commit needs it to be fast, so a slow node gets a chance to be faster
	few    = 2                      // so many requests are always taken, of any size
	window = 100 * time.Millisecond // how long a rate is measured at least; it counts only if that took at most twice as long
)

// First is the weight that is taken before a rate is known.
const First = 4 * least

// Weight returns what a request that adds work weighs, by its body.
func Weight(body []byte) int { return 1 + len(body)/unit }

// Control weighs the requests that add work. How many a node can answer is seen only while it has enough to do. So the rate
// is measured between two refusals.
type Control struct {
	mu       sync.Mutex
	requests int
	underWay int       // the weight of the requests under way
	rate     float64   // weight answered per second; 0: not known
	begun    time.Time // when the window began: when a request was refused
	served   int       // weight answered since begun
}

// Room reports whether a request would be taken now.
func (c *Control) Room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roomNow()
}

// Enter takes a request of a weight, or refuses it.
func (c *Control) Enter(weight int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.roomNow() {
		return false
	}
	c.requests++
	c.underWay += weight
	return true
}

// Leave ends a request that was taken. served says that it got its answer. A request that was refused later says nothing about
// how many the node can answer.
func (c *Control) Leave(weight int, served bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests--
	c.underWay -= weight
	if served {
		c.served += weight
	}
}

func (c *Control) roomNow() bool {
	if c.requests < few || c.underWay < c.limit() {
		return true
	}
	now := time.Now()
	took := now.Sub(c.begun)
	if took < window {
		return false
	}
	if took <= 2*window {
		rate := float64(c.served) / took.Seconds()
		if c.rate > 0 {
			rate = (c.rate + rate) / 2
		}
		c.rate = max(1, rate)
	}
	c.begun, c.served = now, 0
	return c.underWay < c.limit()
}

func (c *Control) limit() int {
	if c.rate == 0 {
		return First
	}
	return max(least, int(c.rate*wait.Seconds()))
}

// UnderWay returns how many requests are under way.
func (c *Control) UnderWay() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

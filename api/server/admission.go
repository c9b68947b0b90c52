package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Admission is for requests that add work (SPEC H3). Such a request waits for all that are under way before it. So time bounds
// how many are under way: if they are more than this node answers in admissionWait, the next is refused before its body is
// read. Requests that report, look or steer are not counted.
const (
	admissionWait   = 100 * time.Millisecond
	admissionUnit   = 1 << 10                // so many bytes of a body count as much as a small request: they take about as long to check and store
	admissionLeast  = 128                    // this weight is always taken: group commit needs it to be fast, so a slow node gets a chance to be faster
	admissionFew    = 2                      // so many requests are always taken, of any size
	admissionFirst  = 4 * admissionLeast     // this weight is taken before a rate is known
	admissionWindow = 100 * time.Millisecond // how long a rate is measured at least; it counts only if that took at most twice as long
)

// weight returns what a request that adds work weighs, by its body.
func weight(body []byte) int { return 1 + len(body)/admissionUnit }

// admission weighs the requests that add work. How many a node can answer is seen only while it has enough to do. So the rate
// is measured between two refusals.
type admission struct {
	mu       sync.Mutex
	requests int
	underWay int       // the weight of the requests under way
	rate     float64   // weight answered per second; 0: not known
	begun    time.Time // when the window began: when a request was refused
	served   int       // weight answered since begun
}

// room reports whether a request would be taken now.
func (a *admission) room() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.roomNow()
}

// enter takes a request of a weight, or refuses it.
func (a *admission) enter(weight int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.roomNow() {
		return false
	}
	a.requests++
	a.underWay += weight
	return true
}

// leave ends a request that was taken. served says that it got its answer. A request that was refused later says nothing about
// how many the node can answer.
func (a *admission) leave(weight int, served bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests--
	a.underWay -= weight
	if served {
		a.served += weight
	}
}

func (a *admission) roomNow() bool {
	if a.requests < admissionFew || a.underWay < a.limit() {
		return true
	}
	now := time.Now()
	took := now.Sub(a.begun)
	if took < admissionWindow {
		return false
	}
	if took <= 2*admissionWindow {
		rate := float64(a.served) / took.Seconds()
		if a.rate > 0 {
			rate = (a.rate + rate) / 2
		}
		a.rate = max(1, rate)
	}
	a.begun, a.served = now, 0
	return a.underWay < a.limit()
}

func (a *admission) limit() int {
	if a.rate == 0 {
		return admissionFirst
	}
	return max(admissionLeast, int(a.rate*admissionWait.Seconds()))
}

// admit serves a request that adds work. If there is no room, it refuses the request before its body is read. The request is
// under way only when its body has been read, so that clients who send slowly keep nobody out.
func (h *handler) admit(r *request, serve func() error) (err error) {
	if !h.adding.room() {
		return tooMuchWork()
	}
	served := false
	defer func() {
		if r.weight > 0 {
			h.adding.leave(r.weight, served)
		}
	}()
	err = serve()
	served = err == nil || api.StatusOf(api.CodeOf(err)) < http.StatusInternalServerError && api.CodeOf(err) != api.CodeOverloaded
	return err
}

// bodyRead lets a request get under way when its body has come, if the request adds work.
func (h *handler) bodyRead(r *request, body []byte) error {
	if !r.route.adds {
		return nil
	}
	if !h.adding.enter(weight(body)) {
		return tooMuchWork()
	}
	r.weight = weight(body)
	return nil
}

// doneAdding gives back the room that a request takes among those that add work. From here on the request only waits.
func (h *handler) doneAdding(r *request) {
	if r.weight > 0 {
		h.adding.leave(r.weight, true)
		r.weight = 0
	}
}

func tooMuchWork() *api.Error {
	return api.NewError(api.CodeOverloaded, "more work is being added than this node takes")
}

package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Admission of requests that add work (SPEC H3). Each of them that is under way waits for those before it, so what is under way is bounded
// by time: if it is more than this node answers in admissionWait, the next is refused before its body is read. Requests that
// report, look or steer are not counted.
const (
	admissionWait   = 100 * time.Millisecond
	admissionUnit   = 1 << 10                // bytes of a body that count as much as a small request: about what it takes to check and store them
	admissionLeast  = 128                    // is always taken: what group commit needs to be fast, so that a slow node gets a chance to be faster
	admissionFew    = 2                      // requests are always taken, of any size
	admissionFirst  = 4 * admissionLeast     // before a rate is known
	admissionWindow = 100 * time.Millisecond // between two looks at the rate; it counts if they are at most twice as far apart
)

// weight of a request that adds work.
func weight(body []byte) int { return 1 + len(body)/admissionUnit }

// admission weighs such requests. What a node can answer is seen only while it has enough to do, so the rate is that between two refusals.
type admission struct {
	mu       sync.Mutex
	requests int
	underWay int       // their weight
	rate     float64   // per second; 0: not known
	begun    time.Time // of the window: then one was refused
	served   int       // since
}

// room tells whether a request would be taken now.
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

// leave ends one that was taken. served: it got its answer; one that was refused later says nothing of what the node can do.
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

// admit serves a request that adds work. One for which there is no room is refused before its body is read; it is under way when that was
// read, so that clients who send slowly keep nobody out.
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

// bodyRead lets a request whose body has come get under way, if it adds work.
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

// doneAdding ends what a request takes of the room for those that add work: it goes on only to wait.
func (h *handler) doneAdding(r *request) {
	if r.weight > 0 {
		h.adding.leave(r.weight, true)
		r.weight = 0
	}
}

func tooMuchWork() *api.Error {
	return api.NewError(api.CodeOverloaded, "more work is being added than this node takes")
}

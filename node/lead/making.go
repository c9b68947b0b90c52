package lead

import (
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// maxMaking bounds for how many modules a worker's progress is known at a time. For the others it counts as unknown.
const maxMaking = 4096

// Preparation is how far a worker is with a module that is not ready (SPEC Q4).
type Preparation struct {
	Worker string
	Since  time.Time // when the step began, by this node's clock
	stream.Unready
}

// preparation is a Preparation by one's own worker.
type preparation struct {
	since time.Time
	stream.Unready
}

// note takes in what the worker says about modules that are not ready.
func (w *workerStream) note(us []stream.Unready) {
	now := w.term.hub.cfg.Clock.Wall()
	for _, u := range us {
		_, known := w.making[u.Module]
		switch {
		case u.Step == "":
			delete(w.making, u.Module)
		case u.Valid() && (known || len(w.making) < maxMaking):
			w.making[u.Module] = preparation{time.UnixMilli(now.UnixMilli() - min(u.For, maxStep)), u}
		}
	}
}

// maxStep bounds in ms how long a step is said to take.
const maxStep = 365 * 24 * 3600 * 1000

// moduleOf returns the digest of the module that a version runs; "": there is no version.
func moduleOf(v *task.Version) string {
	if v == nil {
		return ""
	}
	return v.Module
}

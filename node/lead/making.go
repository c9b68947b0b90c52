package lead

import (
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// maxMaking bounds of how many modules at a time it is known how far a worker is. Of the others it is said that the worker does not say.
const maxMaking = 4096

// Preparation is how far a worker is with a module that it has not ready (SPEC Q4).
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

// note takes in what the worker says of modules that it has not ready.
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

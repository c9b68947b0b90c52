package lead

import (
	"maps"

	"github.com/taskrt/taskrt/worker/stream"
)

// These bound what is remembered of one worker. A worker of this build comes nowhere near, and names that it does not know cost the leader nothing:
// what is left out is not assigned to it, or not ahead of its slots.
const (
	maxReady = 1 << 16 // modules
	maxShort = 1 << 12 // behaviors
)

// The maps ready and short are replaced, never changed, because express reads them, too. A frame without news replaces nothing: frames are small, and maps
// need not be.

func (l *loop) setReady(w *workerStream, digests []string) {
	if ready, news := withReady(w.ready, digests); news {
		w.ready, l.dirty = ready, true
	}
}

func (l *loop) setPace(w *workerStream, paces []stream.Pace) {
	if short, news := withPace(w.short, paces); news {
		w.short, l.dirty = short, true
	}
}

// withReady returns the modules with more of them, and whether any is new.
func withReady(ready map[string]bool, digests []string) (_ map[string]bool, news bool) {
	for _, d := range digests {
		if ready[d] || len(d) > maxHelloText || len(ready) >= maxReady {
			continue
		}
		if !news {
			ready, news = maps.Clone(ready), true
		}
		ready[d] = true
	}
	return ready, news
}

// withPace returns the short behaviors after what a worker says of some, and whether any has changed.
func withPace(short map[stream.Behavior]bool, paces []stream.Pace) (_ map[stream.Behavior]bool, news bool) {
	for _, p := range paces {
		full := len(p.Module) > maxHelloText || len(short) >= maxShort
		if short[p.Behavior] == p.Short || p.Short && full {
			continue
		}
		if !news {
			short, news = maps.Clone(short), true
		}
		if p.Short {
			short[p.Behavior] = true
		} else {
			delete(short, p.Behavior)
		}
	}
	return short, news
}

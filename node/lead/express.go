package lead

import (
	"sync"

	"github.com/taskrt/taskrt/task"
)

// express assigns tasks in the very log entry that creates them (SPEC T1), so that a worker may start after one commit instead of two. It offers only
// slots that the loop has found free when no task waited for them. When the entry is applied, the machine checks that still no task waits
// (task.Assign.Fresh). A task whose assignment is refused is due, and is planned as usual.
//
// The loop closes the offers before it plans, and counts assignments that are still flying as given. So no slot is given out twice.
type express struct {
	store Store
	wake  chan struct{} // capacity 1; written when assignments have landed: slots that were counted for them may be free

	mu       sync.Mutex
	offers   []offer
	flying   map[uint64]flight // by session; no flight in it is empty
	versions map[task.Key]runnable
}

// offer is a session and what express may still give it.
type offer struct {
	task.Free
	slots, least int // as in a plan: slots may go down to least with short behaviors
}

// flight counts assignments to one session whose entry is not applied yet.
type flight struct{ all, long int }

// runnable is what express must know of a behavior's active version.
type runnable struct {
	module string // "": it is not run by a module
	index  int32
}

// maxRunnables bounds how many behaviors are remembered.
const maxRunnables = 1024

func newExpress(store Store) *express {
	return &express{store: store, wake: make(chan struct{}, 1), flying: map[uint64]flight{}, versions: map[task.Key]runnable{}}
}

// close takes the offers back. It returns the assignments that are flying: their entries are not applied yet, or were
// not until just now.
func (x *express) close() map[uint64]flight {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.offers = nil
	flying := make(map[uint64]flight, len(x.flying))
	for id, f := range x.flying {
		flying[id] = f
	}
	return flying
}

// open offers free sessions until close.
func (x *express) open(free []task.Free) {
	offers := make([]offer, 0, len(free))
	for _, f := range free {
		offers = append(offers, offer{f, f.Slots, -f.Ahead})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.offers = offers
}

// forget drops what is remembered of behaviors, because one of them has changed.
func (x *express) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.versions)
}

// accompany is a raftstore.Companion.
func (x *express) accompany(entry []task.Proposal, room int) ([]task.Command, func([]task.Result, error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var cmds []task.Command
	var picks []chosen
	for i := range entry {
		if len(x.offers) == 0 || len(cmds) == room {
			break
		}
		c, ok := entry[i].Command.(task.Submit)
		if !ok || c.NotBefore != 0 || c.Delay != 0 {
			continue
		}
		if p, ok := x.choose(task.Key{Namespace: c.Namespace, ID: c.Behavior}); ok {
			picks = append(picks, p)
			cmds = append(cmds, task.Assign{Key: task.Key{Namespace: c.Namespace, ID: c.ID}, Session: p.session, Fresh: true})
		}
	}
	return cmds, func([]task.Result, error) { x.landed(picks) }
}

// chosen is the slot that choose took.
type chosen struct {
	session uint64
	long    int // 1 unless the behavior is short there
}

// choose takes a slot for a task of a behavior, as a plan would: from the session that has most slots free.
func (x *express) choose(behavior task.Key) (chosen, bool) {
	v := x.version(behavior)
	if v.module == "" {
		return chosen{}, false
	}
	var best *offer
	long := 0
	for i := range x.offers {
		o := &x.offers[i]
		if !o.Ready(v.module, "") {
			continue
		}
		short := o.Short(v.module, v.index)
		if (o.slots > 0 || short && o.slots > o.least) && (best == nil || o.slots > best.slots) {
			if best, long = o, 1; short {
				long = 0
			}
		}
	}
	if best == nil {
		return chosen{}, false
	}
	best.slots--
	best.least = min(0, best.least+best.Each*long)
	f := x.flying[best.Session]
	x.flying[best.Session] = flight{f.all + 1, f.long + long}
	return chosen{best.Session, long}, true
}

// version returns what is known of a behavior. If nothing is known it looks, and so waits while an entry is being
// applied.
func (x *express) version(behavior task.Key) runnable {
	v, ok := x.versions[behavior]
	if ok {
		return v
	}
	x.store.Local(func(m *task.Machine) {
		if a := m.Version(behavior.Namespace, behavior.ID, ""); a != nil {
			v = runnable{a.Module, a.Policy.Index}
		}
	})
	if len(x.versions) >= maxRunnables {
		clear(x.versions)
	}
	x.versions[behavior] = v
	return v
}

// landed is told when an entry is applied, or never will be.
func (x *express) landed(picks []chosen) {
	x.mu.Lock()
	for _, p := range picks {
		f := x.flying[p.session]
		if f = (flight{f.all - 1, f.long - p.long}); f.all > 0 {
			x.flying[p.session] = f
		} else {
			delete(x.flying, p.session)
		}
	}
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

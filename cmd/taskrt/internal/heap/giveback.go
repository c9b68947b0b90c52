package heap

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What is garbage when nothing happens any more would stay for two minutes, and what was collected stays with Go for as long as
// the heap may grow into it: of a node that waits, 50 MB and more are of no use. So whoever has nothing to do collects, and gives back.
const (
	quietLook  = 3 * time.Second
	quietBytes = 2 << 20  // allocated since the last look: there is nothing to do
	worthBytes = 16 << 20 // less is not worth a collection

	allocatedAt = "/gc/heap/allocs:bytes"
	objectsAt   = "/memory/classes/heap/objects:bytes"
	freeAt      = "/memory/classes/heap/free:bytes"
)

// saver gives memory back to the system.
type saver struct {
	allocated uint64 // until the last look
	kept      uint64 // what was held right after it last collected
}

func (s *saver) run() {
	for range time.Tick(quietLook) {
		s.look()
	}
}

// look reports whether it gave anything back.
func (s *saver) look() bool {
	m := []metrics.Sample{{Name: allocatedAt}, {Name: objectsAt}, {Name: freeAt}, {Name: liveAt}}
	metrics.Read(m)
	for i := range m {
		if m[i].Value.Kind() != metrics.KindUint64 {
			return false // another Go
		}
	}
	allocated, held, live := m[0].Value.Uint64(), m[1].Value.Uint64()+m[2].Value.Uint64(), m[3].Value.Uint64()
	quiet := allocated-s.allocated < quietBytes
	s.allocated = allocated
	// Live is what Go's last collection found, and that may have been amid the work.
	if !quiet || held < min(live, s.kept)+worthBytes {
		return false
	}
	debug.FreeOSMemory()
	metrics.Read(m)
	s.kept = m[1].Value.Uint64() + m[2].Value.Uint64()
	return true
}

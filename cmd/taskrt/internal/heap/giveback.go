package heap

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// When nothing happens any more, garbage would stay for two minutes, and Go would keep collected memory for as long
// as the heap may grow into it. In a node that waits this is 50 MB and more, for nothing. So a process that has
// nothing to do collects, and gives memory back.
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

func (s *saver) run(c *collector) {
	for now := range time.Tick(quietLook) {
		c.relax(now)
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
	// live is what Go's last collection found, possibly amid the work.
	if !quiet || held < min(live, s.kept)+worthBytes {
		return false
	}
	debug.FreeOSMemory()
	metrics.Read(m)
	s.kept = m[1].Value.Uint64() + m[2].Value.Uint64()
	return true
}

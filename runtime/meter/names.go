package meter

import (
	"math"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// Subsections of the name section that are kept. Others (of globals, types, labels) nobody reads.
const (
	namesModule    = 0
	namesFunctions = 1
	namesLocals    = 2
)

// names returns the name section with its indexes mapped. Names are for people: what cannot be read is left out.
func (w *rewriter) names(r *wasmbin.Reader) []byte {
	var out []byte
	last := -1
	for r.More() {
		id := r.Byte()
		body := r.Part(uint64(r.U32()), "name section")
		if r.Err != nil || int(id) <= last {
			break
		}
		last = int(id)
		s := &splicer{w: w, r: body, copied: body.Pos}
		switch id {
		case namesModule:
			body.Name()
			s.end()
		case namesFunctions:
			s.functionNames()
		case namesLocals:
			s.localNames()
		default:
			continue
		}
		if body.Err != nil || body.Left() != 0 {
			break
		}
		out = append(out, id)
		out = uleb(out, uint64(len(s.out)))
		out = append(out, s.out...)
	}
	return out
}

// functionNames maps the indexes and gives the functions that are added their names, in their places.
func (s *splicer) functionNames() {
	tick := uleb(nil, uint64(s.w.tick))
	tick = str(tick, Import+"."+Tick)
	named := false
	added := 1
	if s.w.helped {
		added += helpers
	}
	for range s.vector("names", added) {
		start := s.r.Pos
		index := s.r.U32()
		if s.r.Err == nil && !named && index >= s.w.tick {
			s.out = append(s.out, s.w.data[s.copied:start]...)
			s.out = append(s.out, tick...)
			s.copied, named = start, true
		}
		s.replace(start, uint64(s.w.function(index)))
		s.r.Name()
		if s.r.Err != nil {
			return
		}
	}
	s.end()
	if !named {
		s.out = append(s.out, tick...)
	}
	if s.w.helped {
		for i, name := range helperNames {
			s.out = str(uleb(s.out, uint64(s.w.helper)+uint64(i)), name)
		}
	}
}

func (s *splicer) localNames() {
	for range s.vector("functions", 0) {
		s.function()
		for range s.r.Count("names", math.MaxUint32) {
			s.r.U32()
			s.r.Name()
			if s.r.Err != nil {
				return
			}
		}
	}
	s.end()
}

package watch

// slab keeps byte strings in the order in which they came, and forgets them in that order. Its blocks are used again:
// so an append makes no garbage, and the garbage collector has nothing to look at.
type slab struct {
	blocks [][]byte // the length of a block is how much of it is used
	first  uint64   // number of blocks[0]
	spare  []byte   // nil: none
	size   int      // of a block; a longer string has a block of its own
	bytes  int      // of all blocks
}

// place says where a string is.
type place struct {
	block      uint64
	at, length uint32
}

func (s *slab) add(b []byte) place {
	last := len(s.blocks) - 1
	if last < 0 || len(b) > cap(s.blocks[last])-len(s.blocks[last]) {
		s.open(len(b))
		last++
	}
	at := len(s.blocks[last])
	s.blocks[last] = append(s.blocks[last], b...)
	return place{s.first + uint64(last), uint32(at), uint32(len(b))}
}

func (s *slab) open(length int) {
	block := s.spare
	if length > s.size {
		block = make([]byte, 0, length)
	} else if s.spare = nil; block == nil {
		block = make([]byte, 0, s.size)
	}
	s.blocks = append(s.blocks, block)
	s.bytes += cap(block)
}

// get returns the string at a place that is not forgotten yet.
func (s *slab) get(p place) []byte {
	return s.blocks[p.block-s.first][p.at : p.at+p.length]
}

// forget drops all blocks before the given one.
func (s *slab) forget(block uint64) {
	for ; s.first < block && len(s.blocks) > 0; s.first++ {
		gone := s.blocks[0]
		s.blocks[0] = nil
		s.blocks = s.blocks[1:]
		s.bytes -= cap(gone)
		if cap(gone) == s.size {
			s.spare = gone[:0]
		}
	}
}

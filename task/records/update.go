package records

// The questions of an update to the records of a namespace. A namespace without records has no Set: it is nil.

// Find is Get.
func (s *Set) Find(id uint64) (Record, bool) {
	if s == nil {
		return Record{}, false
	}
	return s.Get(id)
}

// Claim notes an ID that is missing, or whose record another client owns at a time.
func (s *Set) Claim(id uint64, client, now int64, missing, owned *[]uint64) {
	switch r, ok := s.Find(id); {
	case !ok:
		*missing = append(*missing, id)
	case r.Available > now && r.Owner != client:
		*owned = append(*owned, id)
	}
}

// Missing returns the IDs of which there is no record.
func (s *Set) Missing(ids []uint64) []uint64 {
	var missing []uint64
	for _, id := range ids {
		if _, ok := s.Find(id); !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// Bytes returns how many bytes the data of records has, wherever the bytes are.
func (s *Set) Bytes(ids []uint64) (n int64) {
	for _, id := range ids {
		if r, ok := s.Find(id); ok {
			n += r.Len()
		}
	}
	return n
}

// Seen are IDs that a list has had.
type Seen map[uint64]bool

// Twice notes an ID, and reports whether it was noted before.
func (s Seen) Twice(id uint64) bool {
	twice := s[id]
	s[id] = true
	return twice
}

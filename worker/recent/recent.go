// Package recent remembers the last tokens with which a session is done (SPEC L2).
package recent

// Tokens remembers the last tokens that were put into it. Duplicates arrive soon or never, so a bounded memory is enough. The zero value
// has none.
type Tokens struct {
	set  map[uint64]struct{}
	ring []uint64
	next int
}

// most is how many tokens are remembered.
const most = 8192

// Add puts a token into it.
func (r *Tokens) Add(token uint64) {
	if r.set == nil {
		r.set = map[uint64]struct{}{}
	}
	if len(r.ring) < most {
		r.ring = append(r.ring, token)
	} else {
		delete(r.set, r.ring[r.next])
		r.ring[r.next] = token
		r.next = (r.next + 1) % most
	}
	r.set[token] = struct{}{}
}

// Has reports whether it remembers a token.
func (r *Tokens) Has(token uint64) bool {
	_, ok := r.set[token]
	return ok
}

package table

// Strings keeps one copy of equal strings. The zero Strings is empty.
type Strings struct{ known map[string]string }

// Same returns the copy that is kept of s.
func (x *Strings) Same(s string) string {
	if known, ok := x.known[s]; ok {
		return known
	}
	if x.known == nil {
		x.known = map[string]string{}
	}
	x.known[s] = s
	return s
}

package bounds

// MaxFuel bounds the fuel of an attempt, used and allowed. Every number up to it is exact in everybody's JSON. PageBytes are the bytes of a page of
// WebAssembly. Records count memory in pages, which takes a byte or two instead of five. MaxPages bounds pages so that the number of their bytes is
// exact, too.
const (
	MaxFuel   = 1 << 53
	PageBytes = 1 << 16
	MaxPages  = MaxFuel / PageBytes
)

// Used is what the guest of an attempt used: fuel, and linear memory in pages (SPEC U1).
type Used struct{ Fuel, Pages int64 }

// Wrong names a field of which no attempt can have used so much, and says why; "": there is none. Only sessions meter, so a program that reports over
// HTTP cannot know.
func (u Used) Wrong(external bool) (field, why string) {
	switch {
	case u.Fuel < 0 || u.Fuel > MaxFuel:
		return "fuel", "fuel is 0 to 2^53 units"
	case u.Pages < 0 || u.Pages > MaxPages:
		return "pages", "memory is 0 to 2^37 pages"
	case external && u != Used{}:
		return "fuel", "only what a session runs is metered"
	}
	return "", ""
}

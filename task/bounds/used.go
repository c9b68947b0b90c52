package bounds

// MaxFuel bounds the fuel of an attempt, used and allowed: every number up to it is exact in everybody's JSON. PageBytes are the bytes of a page of
// WebAssembly: records count memory in pages, a byte or two instead of five. MaxPages bounds them so that their bytes are exact, too.
const (
	MaxFuel   = 1 << 53
	PageBytes = 1 << 16
	MaxPages  = MaxFuel / PageBytes
)

// Used is what the guest of an attempt used: fuel, and linear memory in pages (SPEC U1).
type Used struct{ Fuel, Pages int64 }

// Wrong says of what field no attempt can have used so much, and why; "" if one can. Only sessions meter: a program that reports over HTTP cannot say.
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

package plan

// Use is how many slots of sessions a namespace holds, and for how long it has held slots up to an instant of the lease clock, in milliseconds of
// one slot. Each node counts from its own start, so only differences mean something.
type Use struct {
	Slots int64
	held  int64
	since int64
}

// Take gives the namespace slots, or takes slots away if slots is negative.
func (u *Use) Take(slots, at int64) {
	u.held, u.since = u.Held(at), at
	u.Slots += slots
}

// Held returns for how long the namespace had held slots at an instant.
func (u *Use) Held(at int64) int64 { return u.held + u.Slots*(at-u.since) }

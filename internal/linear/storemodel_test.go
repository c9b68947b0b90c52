package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// This is the model of one TaskStore group (SPEC X2). Every record that a caller makes has data of its own. So data
// names a record through claims, which change its ID. Times are only "now" and "in an hour", so nothing becomes
// available by itself during a run.

// rec is one record. With id 0, an operation without an answer made it, and nobody has seen it since. owner made this
// version. held says that its available time lies ahead.
type rec struct {
	data  string
	id    uint64
	owner int64
	held  bool
}

// group is the state: the records, by data. It is kept as text, because porcupine compares states with ==.
type group []rec

func (g group) state() string {
	slices.SortFunc(g, func(a, b rec) int { return cmp.Compare(a.data, b.data) })
	var b strings.Builder
	for _, r := range g {
		fmt.Fprintf(&b, "%s %d %d %t\n", r.data, r.id, r.owner, r.held)
	}
	return b.String()
}

func parseGroup(s string) (g group) {
	for line := range strings.Lines(s) {
		var r rec
		if _, err := fmt.Sscanf(line, "%s %d %d %t\n", &r.data, &r.id, &r.owner, &r.held); err != nil {
			panic(err)
		}
		g = append(g, r)
	}
	return g
}

func (g group) byID(id uint64) int {
	return slices.IndexFunc(g, func(r rec) bool { return r.id == id })
}

func (g group) byData(data string) int {
	return slices.IndexFunc(g, func(r rec) bool { return r.data == data })
}

// storeInput is one request to the group.
type storeInput struct {
	op     string // update, claim, list
	client int64
	add    []string // update: the data of new records
	change uint64   // update: 0, or the ID of a record that gets the data to
	to     string
	hold   bool // update: new versions are held for an hour
	del    uint64
	depend uint64
}

// storeOutput is the group's answer. conflict has the kinds of reasons, sorted. It is "" if the request happened.
type storeOutput struct {
	conflict string
	tasks    []rec
}

// storeModel says what a group may answer.
var storeModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		g, in := parseGroup(state.(string)), input.(storeInput)
		out, answered := output.(storeOutput)
		switch in.op {
		case "list":
			return g.list(out)
		case "claim":
			if answered {
				return g.claimed(in, out)
			}
			return g.maybeClaimed(state, in)
		}
		conflict := g.conflict(in)
		if !answered {
			if conflict != "" {
				return []any{state}
			}
			return []any{state, g.update(in, nil).state()}
		}
		if conflict != out.conflict {
			return nil
		}
		if conflict != "" {
			return []any{state}
		}
		return g.updated(in, out)
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// list must show exactly the records. It also tells IDs that nobody knew.
func (g group) list(out storeOutput) []any {
	if len(out.tasks) != len(g) {
		return nil
	}
	next := slices.Clone(g)
	for _, seen := range out.tasks {
		i := next.byData(seen.data)
		if i < 0 || next[i].id != 0 && next[i].id != seen.id || next[i].owner != seen.owner || next[i].held != seen.held {
			return nil
		}
		next[i].id = seen.id
	}
	return []any{next.state()}
}

// claimed applies an answered claim. It gets nothing only if nothing is available. Otherwise it gets an available
// record, under a new ID.
func (g group) claimed(in storeInput, out storeOutput) []any {
	if out.conflict != "" {
		return nil // this test's claims have no depends
	}
	if len(out.tasks) == 0 {
		if slices.ContainsFunc(g, func(r rec) bool { return !r.held }) {
			return nil
		}
		return []any{g.state()}
	}
	got := out.tasks[0]
	i := g.byData(got.data)
	if i < 0 || g[i].held || got.id <= g[i].id || got.owner != in.client || !got.held {
		return nil
	}
	next := slices.Clone(g)
	next[i] = got
	return []any{next.state()}
}

func (g group) maybeClaimed(state any, in storeInput) []any {
	states := []any{state}
	for i := range g {
		if !g[i].held {
			next := slices.Clone(g)
			next[i].id, next[i].owner, next[i].held = 0, in.client, true
			states = append(states, next.state())
		}
	}
	return states
}

// conflict says why an update is impossible, in the words of the answer's error object.
func (g group) conflict(in storeInput) string {
	var kinds []string
	see := func(id uint64, kind string, mine bool) {
		switch i := g.byID(id); {
		case id == 0:
		case i < 0:
			kinds = append(kinds, kind)
		case mine && g[i].held && g[i].owner != in.client:
			kinds = append(kinds, "owned")
		}
	}
	see(in.change, "changes", true)
	see(in.del, "deletes", true)
	see(in.depend, "depends", false)
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " ")
}

// updated applies an update that was answered. Its answer holds the adds and then the change.
func (g group) updated(in storeInput, out storeOutput) []any {
	n := len(in.add)
	if in.change != 0 {
		n++
	}
	if len(out.tasks) != n {
		return nil
	}
	var ids []uint64
	most := uint64(0)
	for _, r := range g {
		most = max(most, r.id)
	}
	for _, got := range out.tasks {
		if got.id <= most { // IDs rise and are never used again
			return nil
		}
		most = got.id
		ids = append(ids, got.id)
	}
	next := g.update(in, ids)
	for _, got := range out.tasks {
		if i := next.byData(got.data); i < 0 || next[i] != got {
			return nil
		}
	}
	return []any{next.state()}
}

// update applies an update. ids are the IDs of the new versions, or nil if nobody knows them.
func (g group) update(in storeInput, ids []uint64) group {
	id := func(i int) uint64 {
		if ids == nil {
			return 0
		}
		return ids[i]
	}
	next := slices.Clone(g)
	for i, data := range in.add {
		next = append(next, rec{data: data, id: id(i), owner: in.client, held: in.hold})
	}
	if i := next.byID(in.change); in.change != 0 {
		next[i] = rec{data: in.to, id: id(len(in.add)), owner: in.client, held: in.hold}
	}
	if i := next.byID(in.del); in.del != 0 {
		next = slices.Delete(next, i, i+1)
	}
	return next
}

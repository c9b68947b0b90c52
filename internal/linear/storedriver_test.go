package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// storeCell is one TaskStore group with what its callers know of it.
type storeCell struct {
	c       *cluster
	name    string
	start   time.Time
	history history

	mu    sync.Mutex
	seen  []uint64 // all IDs that somebody has seen, even former ones
	count int
}

func (s *storeCell) hist() *history { return &s.history }

// wireTask is a record as the service sends it.
type wireTask struct {
	ID       uint64
	Data     string
	Timespec int64
	OwnerID  int64
}

func (s *storeCell) recs(ts []*wireTask) []rec {
	var out []rec
	for _, t := range ts {
		held := t.Timespec > time.Now().Add(time.Minute).UnixMilli()
		out = append(out, rec{data: t.Data, id: t.ID, owner: t.OwnerID, held: held})
		s.mu.Lock()
		s.seen = append(s.seen, t.ID)
		s.mu.Unlock()
	}
	return out
}

// fresh returns data that no other record has.
func (s *storeCell) fresh() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return fmt.Sprintf("d%d", s.count)
}

// someID returns an ID that was seen, mostly a late one, or 0.
func (s *storeCell) someID(r *rand.Rand) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return 0
	}
	back := min(r.IntN(4)*r.IntN(4), len(s.seen)-1)
	return s.seen[len(s.seen)-1-back]
}

// step makes one random request in the name of client.
func (s *storeCell) step(ctx context.Context, r *rand.Rand, client int) {
	in := storeInput{op: "update", client: int64(client) + 1}
	switch n := r.IntN(10); {
	case n < 3:
		in.op = "list"
	case n < 5:
		in.op = "claim"
	case n < 6:
		in.add = []string{s.fresh()}
	case n < 7:
		in.add, in.del = []string{s.fresh(), s.fresh()}, s.someID(r)
	case n < 9:
		if in.change, in.to = s.someID(r), s.fresh(); in.change == 0 {
			in.add = []string{s.fresh()}
		}
	default:
		in.del = s.someID(r)
		if in.depend = s.someID(r); in.del == 0 {
			in.add = []string{s.fresh()}
		}
	}
	in.hold = in.op == "update" && r.IntN(3) == 0
	if in.del == in.change {
		in.del = 0
	}
	s.history.record(client, s.start, func() any { return in }, in.op == "list", func() (any, verdict) {
		out, v := s.do(ctx, r, in)
		return out, v
	})
}

func (s *storeCell) do(ctx context.Context, r *rand.Rand, in storeInput) (storeOutput, verdict) {
	if in.op == "list" {
		a, v := s.c.request(ctx, r, "GET", "/taskstore/group/"+s.name+"?owned=true", "", nil)
		if v != known {
			return storeOutput{}, v
		}
		return storeOutput{tasks: s.recs(decode[[]*wireTask](a))}, known
	}
	path, body := "/taskstore/update", s.body(in)
	if in.op == "claim" {
		path = "/taskstore/claim"
	}
	a, v := s.c.request(ctx, r, "POST", path, keyFor(r), body)
	if v != known {
		return storeOutput{}, v
	}
	if a.status != 200 {
		s.history.refute("%s %v: %d %s", path, body, a.status, a.body)
		return storeOutput{}, unknown
	}
	reply := decode[struct {
		Tasks []*wireTask
		Error map[string][]uint64
	}](a)
	var kinds []string
	for kind, ids := range reply.Error {
		if len(ids) > 0 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return storeOutput{conflict: strings.Join(kinds, " "), tasks: s.recs(reply.Tasks)}, known
}

// body is the request as JSON. An hour is "held", and now is not.
func (s *storeCell) body(in storeInput) map[string]any {
	const hour = 3_600_000
	if in.op == "claim" {
		return map[string]any{"clientid": in.client, "group": s.name, "duration": hour}
	}
	b := map[string]any{"clientid": in.client}
	timespec := 0
	if in.hold {
		timespec = -hour
	}
	var adds []any
	for _, data := range in.add {
		adds = append(adds, map[string]any{"group": s.name, "data": data, "timespec": timespec})
	}
	if adds != nil {
		b["adds"] = adds
	}
	if in.change != 0 {
		b["updates"] = []any{map[string]any{"id": in.change, "data": in.to, "timespec": timespec}}
	}
	if in.del != 0 {
		b["deletes"] = []uint64{in.del}
	}
	if in.depend != 0 {
		b["depends"] = []uint64{in.depend}
	}
	return b
}

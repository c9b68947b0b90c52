package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// storeBook is what the clients of the TaskStore API were told: every record by its ID, and how it came to be.
type storeBook struct {
	highest uint64
	records map[uint64]storeVersion
}

type storeVersion struct {
	r   api.StoreTask
	now int64 // the log's time when it was made, from its available time and the request
}

func newStoreBook() storeBook { return storeBook{records: map[uint64]storeVersion{}} }

// items is work in a group of records. Clients claim one record after the other, and replace each by a record in
// another group. Some clients fall silent and lose their records.
type items struct {
	group      string
	n, clients int
	seed       uint64
}

func (p items) done() string { return p.group + "-done" }

// storeDo does one change once. A new record has an ID that nobody had, above all IDs that anybody was told before
// (SPEC X2).
func (m *mixed) storeDo(rng *rand.Rand, what string, ahead []int64, f func(ctx context.Context, n *node.Node) (*api.StoreReply, error)) *api.StoreReply {
	m.mu.Lock()
	before := m.store.highest
	m.mu.Unlock()
	var reply *api.StoreReply
	err := m.callOnce(rng, what, func(ctx context.Context, n *node.Node) (err error) {
		reply, err = f(ctx, n)
		return err
	})
	if err != nil {
		m.mayFail(what, err)
		return &api.StoreReply{Errors: &api.StoreErrors{}}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range reply.Tasks {
		if _, known := m.store.records[r.ID]; known || r.ID <= before {
			m.errorf("%s: ID %d, after %d (SPEC X2)", what, r.ID, before)
		}
		m.store.highest = max(m.store.highest, r.ID)
		m.store.records[r.ID] = storeVersion{*r, r.Timespec - ahead[i]}
	}
	if reply.Errors != nil {
		m.counts["store conflicts"]++
	}
	return reply
}

func (p items) run(r *runner) {
	m, rng := r.mix, rand.New(rand.NewPCG(p.seed, 1))
	q := api.StoreUpdateRequest{ClientID: 1}
	for i := range p.n {
		q.Adds = append(q.Adds, api.StoreAdd{Group: p.group, Data: fmt.Sprintf("%s/%d", p.group, i)})
	}
	reply := m.storeDo(rng, "add to "+p.group, make([]int64, p.n), func(ctx context.Context, n *node.Node) (*api.StoreReply, error) {
		return n.StoreUpdate(ctx, q)
	})
	if len(reply.Tasks) != p.n {
		m.errorf("added %d to %s: %+v", p.n, p.group, reply)
		return
	}
	var wg sync.WaitGroup
	for i := range p.clients {
		rng := rand.New(rand.NewPCG(p.seed, uint64(10+i)))
		id := int64(p.seed>>8) + int64(i)
		wg.Go(func() {
			for p.step(m, rng, id) {
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// step works on one record, and reports whether there is more to do.
func (p items) step(m *mixed, rng *rand.Rand, client int64) bool {
	const lease = 5 * time.Second
	claim := api.StoreClaimRequest{ClientID: client, Group: p.group, Duration: lease}
	reply := m.storeDo(rng, "claim of "+p.group, []int64{lease.Milliseconds()}, func(ctx context.Context, n *node.Node) (*api.StoreReply, error) {
		return n.StoreClaim(ctx, claim)
	})
	if len(reply.Tasks) == 0 {
		time.Sleep(time.Second)
		return len(p.list(m, rng, p.group)) > 0
	}
	r := reply.Tasks[0]
	if r.OwnerID != client || r.Group != p.group {
		m.errorf("%d claimed %+v", client, r)
	}
	m.count("claimed")
	switch rng.IntN(6) {
	case 0:
		return true // nobody hears of the client again
	case 1: // it claims for longer
		change := api.StoreUpdateRequest{ClientID: client, Updates: []api.StoreChange{{ID: r.ID, Data: r.Data, Timespec: -lease.Milliseconds()}}}
		reply = m.storeDo(rng, "renew in "+p.group, []int64{lease.Milliseconds()}, func(ctx context.Context, n *node.Node) (*api.StoreReply, error) {
			return n.StoreUpdate(ctx, change)
		})
		if len(reply.Tasks) == 0 {
			return true
		}
		r = reply.Tasks[0]
	case 2:
		time.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond) // this may be too long
	}
	finish := api.StoreUpdateRequest{ClientID: client, Deletes: []uint64{r.ID}, Adds: []api.StoreAdd{{Group: p.done(), Data: r.Data}}}
	m.storeDo(rng, "finish in "+p.group, []int64{0}, func(ctx context.Context, n *node.Node) (*api.StoreReply, error) {
		return n.StoreUpdate(ctx, finish)
	})
	return true
}

func (p items) list(m *mixed, rng *rand.Rand, group string) (rs []*api.StoreTask) {
	_, err := m.call(rng, "list "+group, func(ctx context.Context, n *node.Node) (err error) {
		rs, err = api.CollectStore(n.StoreGroup(ctx, "", group, 0, true))
		return err
	})
	m.mayFail("list "+group, err)
	return rs
}

// checkStore: every item was finished once, and nobody took an item that another client owned (SPEC X2).
func (m *mixed) checkStore() {
	rng := rand.New(rand.NewPCG(m.s.seed, 12))
	byItem := map[string][]storeVersion{}
	for _, v := range m.store.records {
		byItem[v.r.Data] = append(byItem[v.r.Data], v)
	}
	groups := map[string]map[string]int{}
	for item, vs := range byItem {
		slices.SortFunc(vs, func(a, b storeVersion) int { return cmp.Compare(a.r.ID, b.r.ID) })
		for i := 1; i < len(vs); i++ {
			a, b := vs[i-1], vs[i]
			if a.r.OwnerID != b.r.OwnerID && b.now < a.r.Timespec {
				m.errorf("%s: %+v was taken at %d by %+v (SPEC X2)", item, a.r, b.now, b.r)
			}
		}
		name := vs[0].r.Group
		if groups[name] == nil {
			groups[name] = map[string]int{}
		}
		groups[name][item] = 0
	}
	for name, left := range groups {
		p := items{group: name}
		if rs := p.list(m, rng, name); len(rs) != 0 {
			m.errorf("%s still has %d records", name, len(rs))
		}
		for _, r := range p.list(m, rng, p.done()) {
			left[r.Data]++
		}
		for item, n := range left {
			if n != 1 {
				m.errorf("%s was finished %d times (SPEC X2)", item, n)
			}
		}
	}
}

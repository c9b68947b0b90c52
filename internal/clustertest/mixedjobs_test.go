package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/node"
)

// bulk is a set of tasks that never run. Bulk jobs act on all of them, one job after the other (SPEC Q3). Nobody else touches them, so the counts of
// each job are known.
type bulk struct {
	id      string
	n       int
	actions []jobs.Action // after a cancel; the last one makes them final, or removes them
	rate    int64
	seed    uint64
}

// bulk draws a set of tasks and the jobs that act on it.
func (g *generator) bulk(i int) {
	p := bulk{id: fmt.Sprintf("bulk-%d", i), n: 5 + g.rng.IntN(20), rate: int64(1 + g.rng.IntN(20)), seed: g.rng.Uint64()}
	if g.rng.IntN(2) == 0 {
		p.actions = append(p.actions, [...]jobs.Action{jobs.Retry, jobs.Resubmit}[g.rng.IntN(2)], jobs.Cancel)
	}
	if g.rng.IntN(2) == 0 {
		p.actions = append(p.actions, jobs.Remove)
	}
	g.add(p.run, "%d tasks of %s: bulk jobs cancel, %v, %d per second", p.n, p.id, p.actions, p.rate)
}

func (p bulk) run(r *runner) {
	m, rng := r.mix, rand.New(rand.NewPCG(p.seed, 1))
	for i := range p.n {
		id := fmt.Sprintf("%s.%d", p.id, i)
		o := m.own(id)
		o.cancels++
		if !m.submits(rng, api.SubmitRequest{
			ID: id, Behavior: "ext", Params: []byte(`{"ms":1}`), Delay: new(api.Duration(1000 * time.Hour)), Labels: map[string]string{"bulk": p.id},
		}) {
			return
		}
		o.accepted.Store(true)
	}
	p.act(m, rng, jobs.Cancel, p.n)
	waiting := 0
	for _, a := range p.actions {
		switch a {
		case jobs.Cancel:
			p.act(m, rng, a, waiting)
			waiting = 0
		case jobs.Retry, jobs.Resubmit:
			waiting = p.act(m, rng, a, p.n)
		case jobs.Remove:
			p.remove(m, rng)
		}
		p.count(m, rng, waiting)
	}
}

// act runs one job, and returns with how many of the tasks it did what it should. selects is how many tasks it must find.
func (p bulk) act(m *mixed, rng *rand.Rand, a jobs.Action, selects int) int {
	what := fmt.Sprintf("job %s %s", a, p.id)
	q := jobs.JobRequest{Filter: jobs.JobFilter{Label: []string{"bulk=" + p.id}}, Rate: p.rate}
	if a == jobs.Retry || a == jobs.Resubmit {
		q.Delay = new(api.Duration(1000 * time.Hour))
	}
	var j *jobs.Job
	for {
		err := m.callOnce(rng, what, func(ctx context.Context, n *node.Node) error {
			r, err := n.Jobs().Start(ctx, a, q)
			if err == nil {
				j = r.Job
			}
			return err
		})
		if err == nil {
			break
		}
		if m.mayFail(what, err, "too_many_jobs"); m.c.t.Context().Err() != nil {
			return 0
		}
		time.Sleep(time.Second)
	}
	for !j.Ended() {
		time.Sleep(time.Second)
		_, err := m.call(rng, "look at "+what, func(ctx context.Context, n *node.Node) error {
			r, err := n.Jobs().Job(ctx, j.ID)
			if err == nil {
				j = r.Job
			}
			return err
		})
		if m.mayFail("look at "+what, err); err != nil {
			return 0
		}
	}
	m.count("bulk jobs")
	refused := j.Refused == 0 || a == jobs.Retry || a == jobs.Resubmit // the behavior may be away
	if j.Status != jobs.Success || j.Selected != int64(selects) || j.Position != j.Selected || j.Done+j.Refused != j.Selected || !refused {
		m.errorf("%s of %d tasks ended as %+v (SPEC Q3)", what, selects, j)
	}
	return int(j.Done)
}

func (p bulk) remove(m *mixed, rng *rand.Rand) {
	for i := range p.n {
		m.own(fmt.Sprintf("%s.%d", p.id, i)).vanishes.Store(true)
	}
	p.act(m, rng, jobs.Remove, p.n)
	for i := range p.n {
		m.own(fmt.Sprintf("%s.%d", p.id, i)).removed.Store(true)
	}
}

// count compares the tasks that wait with how many should, through any node (SPEC W4).
func (p bulk) count(m *mixed, rng *rand.Rand, want int) {
	var got int64
	_, err := m.call(rng, "count "+p.id, func(ctx context.Context, n *node.Node) error {
		l, err := n.Tasks(ctx, api.ListRequest{Labels: []string{"bulk=" + p.id}, Final: new(false), Count: true, Limit: 1})
		if err == nil {
			got = *l.Count
		}
		return err
	})
	if m.mayFail("count "+p.id, err); err == nil && got != int64(want) {
		m.errorf("%d tasks of %s wait, want %d (SPEC Q3)", got, p.id, want)
	}
}

package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

// callOnce is call under an idempotency key. In the end the outcome is known, and nothing can happen later. Without a
// key, a call that was answered with outcome_unknown may still be on its way when the same call has been done through
// another node.
func (m *mixed) callOnce(rng *rand.Rand, what string, f func(ctx context.Context, n *node.Node) error) error {
	once := api.Once{Key: rng.Uint64() | 1, Body: rng.Uint64() | 1}
	_, err := m.call(rng, what, func(ctx context.Context, n *node.Node) error { return f(api.WithOnce(ctx, once), n) })
	return err
}

// txn does a transaction once, whatever happens to its answers.
func (m *mixed) txn(rng *rand.Rand, what string, q api.TxnRequest) (reply *api.TxnReply, err error) {
	err = m.callOnce(rng, what, func(ctx context.Context, n *node.Node) (err error) {
		reply, err = n.Txn(ctx, q)
		return err
	})
	return reply, err
}

// chain is a row of tasks. The transaction that finishes one task submits the next.
type chain struct {
	id   string
	n    int
	seed uint64
}

// next returns the ID of the task that follows.
func next(id string) string { return id + ".n" }

// link returns a task of a chain. left more tasks follow it.
func link(id string, left int) api.SubmitRequest {
	params, err := json.Marshal(job{MS: 300, Chain: left})
	if err != nil {
		panic(err)
	}
	return api.SubmitRequest{ID: id, Behavior: "ext", Params: params, Labels: map[string]string{"chain": strconv.Itoa(left)}}
}

func (p chain) run(r *runner) {
	m := r.mix
	if !m.submits(rand.New(rand.NewPCG(p.seed, 1)), link(p.id, p.n)) {
		return
	}
	id := p.id
	for range p.n + 1 {
		m.own(id).vanishes.Store(true) // after a task that fails for good nothing follows
		id = next(id)
	}
}

// finishChain reports a success of a chain's task, together with the submit of the next task.
func (m *mixed) finishChain(rng *rand.Rand, t *api.Task, j *job, f api.FinishRequest) {
	q := api.TxnRequest{Finish: []api.FinishRequest{f}}
	if j.Chain > 0 {
		following := link(next(t.ID), j.Chain-1)
		following.IfExists = "fail"
		q.Submit = append(q.Submit, following)
	}
	for range 600 {
		before := m.state(f.ID, f.Token)
		reply, err := m.txn(rng, fmt.Sprintf("txn: finish %s %d", f.ID, f.Token), q)
		switch {
		case err == nil:
			m.count("chained")
			x := reply.Tasks[len(reply.Tasks)-1]
			m.reported(f.ID, f.Token, before, x.Status, x.Rev, nil)
			return
		case api.CodeOf(err) != api.CodeBehaviorNotFound:
			m.mayFail("txn: finish "+f.ID, err, api.CodeConflict)
			return
		}
		time.Sleep(500 * time.Millisecond) // the lease may run out meanwhile
	}
}

// chainRule: a task of a chain is done exactly when the next task is there (SPEC X1).
func chainRule(_ uint64, tasks map[task.Key]*task.Task) error {
	for key, t := range tasks {
		left := labelOf(t, "chain")
		if left == "" || left == "0" {
			continue
		}
		following := tasks[task.Key{Namespace: key.Namespace, ID: next(key.ID)}]
		if (t.Status == task.Success) != (following != nil) {
			return fmt.Errorf("%w: %s is %v, and the next one: %v", errHalf, key.ID, t.Status, following != nil)
		}
	}
	return nil
}

func labelOf(t *task.Task, name string) string {
	for _, l := range t.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// group is a few tasks that never run. Writers count up a number that all of them carry. They also pass on a fourth
// task, which has one of two names in turn. Each round is one transaction.
type group struct {
	id              string
	writers, rounds int
	seed            uint64
}

const groupSize = 3

func (p group) member(i int) string { return fmt.Sprintf("%s.%d", p.id, i) }

// token returns the name of the task that is passed on. It has another name after each round.
func (p group) token(n int) string {
	return fmt.Sprintf("%s.token-%s", p.id, [2]string{"left", "right"}[n%2])
}

func (p group) submit(id string) api.SubmitRequest {
	return api.SubmitRequest{
		ID: id, Behavior: "ext", Params: []byte(`{"ms":1}`), Delay: new(api.Duration(1000 * time.Hour)), IfExists: "fail",
		Labels: map[string]string{"group": p.id, "v": "0"},
	}
}

func (p group) run(r *runner) {
	m, rng := r.mix, rand.New(rand.NewPCG(p.seed, 1))
	var q api.TxnRequest
	for i := range groupSize {
		q.Submit = append(q.Submit, p.submit(p.member(i)))
	}
	q.Submit = append(q.Submit, p.submit(p.token(0)))
	for _, s := range append(q.Submit, p.submit(p.token(1))) {
		m.own(s.ID).vanishes.Store(true)
	}
	if !p.insist(m, rng, "make", func() (api.TxnRequest, error) { return q, nil }) {
		return
	}
	var wg sync.WaitGroup
	for w := range p.writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(p.seed, uint64(10+w)))
			for range p.rounds {
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
				if !p.insist(m, rng, "count up", func() (api.TxnRequest, error) { return p.countUp(m, rng) }) {
					return
				}
				m.count("counted up")
			}
		})
	}
	wg.Wait()
	v, _, err := p.read(m, rng)
	if err != nil || v != p.writers*p.rounds {
		m.errorf("%s was counted up %d times and is at %d: %v (SPEC X1)", p.id, p.writers*p.rounds, v, err)
	}
	q = api.TxnRequest{Delete: []api.TxnDelete{{ID: p.token(v)}}}
	for i := range groupSize {
		q.Delete = append(q.Delete, api.TxnDelete{ID: p.member(i)})
	}
	p.insist(m, rng, "delete", func() (api.TxnRequest, error) { return q, nil })
	for _, d := range q.Delete {
		m.own(d.ID).removed.Store(true)
	}
}

// insist tries a transaction until it happens. It makes the transaction anew for each try.
func (p group) insist(m *mixed, rng *rand.Rand, what string, build func() (api.TxnRequest, error)) bool {
	for range 600 {
		q, err := build()
		if err == nil {
			_, err = m.txn(rng, what+" "+p.id, q)
		}
		switch api.CodeOf(err) {
		case "":
			if err == nil {
				return true
			}
		case api.CodeConflict, api.CodeTaskNotFound: // another writer was faster
			m.count("conflicts")
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			continue
		case api.CodeBehaviorNotFound:
			time.Sleep(time.Second)
			continue
		}
		m.mayFail(what+" "+p.id, err)
		return false
	}
	m.errorf("%s %s: never happened", what, p.id)
	return false
}

// read returns the group's number, which it reads from the group's first task.
func (p group) read(m *mixed, rng *rand.Rand) (v int, rev uint64, err error) {
	var t *api.Task
	_, err = m.call(rng, "read "+p.id, func(ctx context.Context, n *node.Node) (err error) {
		t, err = n.Task(ctx, "", p.member(0), api.GetOptions{})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	v, err = strconv.Atoi(t.Labels["v"])
	return v, t.Rev, err
}

// countUp returns the next round.
func (p group) countUp(m *mixed, rng *rand.Rand) (q api.TxnRequest, err error) {
	v, rev, err := p.read(m, rng)
	if err != nil {
		return q, err
	}
	labels := map[string]string{"group": p.id, "v": strconv.Itoa(v + 1)}
	for i := range groupSize {
		u := api.TxnUpdate{ID: p.member(i), Labels: labels}
		if i == 0 && rng.IntN(2) == 0 {
			u.Rev = rev
		}
		q.Update = append(q.Update, u)
	}
	if q.Update[0].Rev == 0 {
		q.Depends = []api.TxnDepend{{ID: p.member(0), Rev: rev}}
	}
	token := p.submit(p.token(v + 1))
	token.Labels = labels
	q.Submit, q.Delete = []api.SubmitRequest{token}, []api.TxnDelete{{ID: p.token(v)}}
	return q, nil
}

var errHalf = errors.New("half a transaction (SPEC X1)")

// groupRule: all tasks of a group have one number, and there is one token, which belongs to this number.
func groupRule(_ uint64, tasks map[task.Key]*task.Task) error {
	found := map[string][]*task.Task{}
	for _, t := range tasks {
		if id := labelOf(t, "group"); id != "" {
			found[id] = append(found[id], t)
		}
	}
	for id, ts := range found {
		if len(ts) != groupSize+1 {
			return fmt.Errorf("%w: %s has %d tasks", errHalf, id, len(ts))
		}
		v := labelOf(ts[0], "v")
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		for _, t := range ts {
			if labelOf(t, "v") != v {
				return fmt.Errorf("%w: %s is at %s and %s", errHalf, id, v, labelOf(t, "v"))
			}
			if strings.Contains(t.ID, ".token-") && t.ID != (group{id: id}).token(n) {
				return fmt.Errorf("%w: %s is at %s and has %s", errHalf, id, v, t.ID)
			}
		}
	}
	return nil
}

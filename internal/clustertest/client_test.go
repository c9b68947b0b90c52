package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// known is what the owner of a task may rely on, according to the answers that it got.
type known struct {
	behavior, params string

	accepted  bool // a submit was acknowledged
	onItsWay  bool // a submit has an unknown outcome, and had no key: it may be done later, also after a remove, which makes another task of it (callOnce)
	removed   bool // a remove was acknowledged
	cancels   int  // how many were asked for, acknowledged or not
	resubmits int  // how many were asked for
	reruns    int  // how many were acknowledged with a new cycle
	perhaps   int  // how many reruns have an unknown outcome
	final     *api.Task
}

// verdict says whether the request was done, according to its answer. unknown leaves it open (SPEC H4), nothing says
// no.
type verdict int

const (
	definite verdict = iota
	unknown
	nothing
)

func judge(err error) verdict {
	switch api.CodeOf(err) {
	case api.CodeOutcomeUnknown:
		return unknown
	case api.CodeNoLeader, api.CodeOverloaded, api.CodeNotReady:
		return nothing
	}
	return definite
}

// call does f through nodes that are up until the answer is definite. It reports whether an answer before was not
// definite. Calls end when the test gives up.
func (r *runner) call(rng *rand.Rand, what string, f func(ctx context.Context, n *node.Node) error) (unsure int, err error) {
	for {
		i := rng.IntN(nodes)
		n := r.c.Members[i].up()
		if n == nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		patience := time.Second + time.Duration(rng.Int64N(int64(time.Minute)))
		ctx, cancel := context.WithTimeout(r.c.t.Context(), patience)
		err = f(ctx, n)
		cancel()
		v := judge(err)
		r.note("%s through n%d: %v", what, i+1, err)
		switch v {
		case definite:
			return unsure, err
		case unknown:
			unsure++
		case nothing:
		}
		if r.c.t.Context().Err() != nil {
			return unsure, err
		}
		time.Sleep(time.Duration(rng.Int64N(int64(time.Second))))
	}
}

// submit sends a submit until its answer is definite.
func (r *runner) submit(rng *rand.Rand, q api.SubmitRequest) (reply *api.SubmitReply, unsure int, err error) {
	what := fmt.Sprintf("submit %s %s if_exists=%s", q.Behavior, q.ID, q.IfExists)
	unsure, err = r.call(rng, what, func(ctx context.Context, n *node.Node) error {
		var err error
		reply, err = n.Submit(ctx, q)
		return err
	})
	return reply, unsure, err
}

// run lives the life of one task. Nobody else touches the task, so every answer can be judged right or wrong.
func (p program) run(r *runner) {
	rng := rand.New(rand.NewPCG(p.seed, 3))
	k := &known{behavior: p.behavior, params: p.params}
	r.knows(p.id, k)
	reply, unsure, err := r.submit(rng, p.request())
	switch {
	case err != nil && unsure > 0 && api.CodeOf(err) == "already_exists":
	case err != nil:
		// This includes already_exists without a former try: the product sent the submit again and met itself (SPEC H4).
		r.errorf("submit %s: %v", p.id, err)
		return
	case unsure == 0 && reply.Outcome != "created", reply.Outcome != "created" && reply.Outcome != "existing":
		r.errorf("submit %s: outcome %s after %d unknown ones", p.id, reply.Outcome, unsure)
	}
	k.accepted, k.onItsWay = true, unsure > 0
	for _, s := range p.acts {
		time.Sleep(s.after)
		if !r.act(rng, p, k, s.what) {
			return
		}
	}
}

// act does one thing with an accepted task, and reports whether the task is still there.
func (r *runner) act(rng *rand.Rand, p program, k *known, what string) bool {
	switch what {
	case "await":
		return r.await(rng, p.id, k)
	case "cancel":
		k.cancels++
		_, err := r.call(rng, "cancel "+p.id, func(ctx context.Context, n *node.Node) error {
			_, err := n.Cancel(ctx, "", p.id)
			return err
		})
		if err != nil && api.CodeOf(err) != "not_cancellable" {
			r.errorf("cancel %s: %v", p.id, err)
		}
	case "remove":
		unsure, err := r.call(rng, "remove "+p.id, func(ctx context.Context, n *node.Node) error { return n.Remove(ctx, "", p.id) })
		if err != nil && (unsure == 0 || api.CodeOf(err) != api.CodeTaskNotFound) {
			r.errorf("remove %s: %v", p.id, err)
		}
		k.removed = true
		return false
	case "rerun", "resubmit":
		q := p.request()
		q.IfExists, q.Delay = what, nil
		reply, unsure, err := r.submit(rng, q)
		switch {
		case err != nil && api.CodeOf(err) != "cancelling":
			r.errorf("%s %s: %v", what, p.id, err)
		case err == nil && reply.Outcome == "created":
			r.errorf("%s %s: the task had disappeared", what, p.id)
		case what == "resubmit":
			k.resubmits++
		case err == nil && reply.Outcome == "updated":
			k.reruns++
		}
		k.perhaps += unsure
		k.final = nil
	}
	return true
}

// await waits until the task is final. Its outcome then has to stay (SPEC T1).
func (r *runner) await(rng *rand.Rand, id string, k *known) bool {
	for {
		var got *api.Task
		_, err := r.call(rng, "await "+id, func(ctx context.Context, n *node.Node) error {
			var err error
			got, err = n.Task(ctx, "", id, api.GetOptions{Wait: 20 * time.Second})
			return err
		})
		if err != nil {
			r.errorf("await %s: %v", id, err)
			return false
		}
		if got.Final {
			k.final = got
			return true
		}
	}
}

// equalSubmits are submits of one task, whichever comes first (SPEC I4).
type equalSubmits struct {
	n      int
	params string
	seed   uint64
}

func (e equalSubmits) run(r *runner) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, outcomes, unsure := map[string]bool{}, map[string]int{}, 0
	for i := range e.n {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(e.seed, uint64(i)))
			time.Sleep(time.Duration(rng.Int64N(int64(200 * time.Millisecond))))
			reply, u, err := r.submit(rng, api.SubmitRequest{Behavior: "equal", Params: []byte(e.params)})
			mu.Lock()
			defer mu.Unlock()
			unsure += u
			if err != nil {
				r.errorf("equal submit of %s: %v", e.params, err)
				return
			}
			ids[reply.Task.ID] = true
			outcomes[reply.Outcome]++
		})
	}
	wg.Wait()
	if len(ids) != 1 || outcomes["created"] > 1 || outcomes["created"] == 0 && unsure == 0 || len(outcomes) > 2 {
		r.errorf("equal submits of %s: IDs %v, outcomes %v, %d unknown (SPEC I4)", e.params, ids, outcomes, unsure)
	}
	for id := range ids {
		r.knows(id, &known{behavior: "equal", params: e.params, accepted: true})
	}
}

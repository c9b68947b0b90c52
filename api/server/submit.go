package server

import (
	"cmp"
	"net/http"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// submit is POST /v1/tasks: one task, or a batch if the body has "tasks" (SPEC H1).
func (h *handler) submit(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, wait := q.text("namespace"), q.duration("wait")
	if err := q.done(); err != nil {
		return err
	}
	if err := (api.GetOptions{Wait: wait}).Check(); err != nil {
		return err
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return err
	}
	items, released := int64(0), false
	defer func() {
		if h.bodies.Release(items); !released {
			release()
		}
	}()
	t, bad := codec.DecodeSubmits(body, func() *api.Error {
		if !h.bodies.TryAcquire(codec.ItemsRoom) {
			return tooManyBodies()
		}
		items += codec.ItemsRoom
		return nil
	})
	if bad != nil {
		return bad
	}
	if t.Many && wait > 0 {
		return api.FieldError(api.CodeInvalidField, "wait", "is for one task; POST /v1/tasks:wait waits for many")
	}
	if t.Many {
		return h.submitBatch(w, r, &t, ns)
	}
	if err := codec.TakeNamespace(&t.One, ns); err != nil {
		return err
	}
	r.once.Namespace = cmp.Or(t.One.Namespace, api.DefaultNamespace)
	ctx, meta := r.call()
	t.One.Minimal = wait == 0 && codec.PrefersMinimal(r.Header)
	reply, err := h.service.Submit(ctx, t.One)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Outcome == "created" {
		status = http.StatusCreated
	}
	if wait > 0 {
		release() // before the wait, which needs no body
		released = true
		h.doneAdding(r)
		if meta, err = h.awaitReply(r, reply, wait, meta.Index()); err != nil {
			return err
		}
	}
	if t.One.Minimal {
		w.Header().Set(codec.AppliedHeader, codec.ReturnMinimal)
		return h.answer(w, status, meta, codec.Minimal(reply))
	}
	return h.answer(w, status, meta, reply)
}

// submitBatch answers every item, in order. Items that cannot be read are answered here. The others go to the Service in one
// call.
func (h *handler) submitBatch(w http.ResponseWriter, r *request, t *codec.Submits, ns string) error {
	if _, err := bodyNamespace(r, ns, t.Namespace); err != nil {
		return err
	}
	if err := t.Split(); err != nil {
		return err
	}
	minimal := codec.PrefersMinimal(r.Header)
	ns = cmp.Or(ns, t.Namespace) // if neither is given, each task names its own
	results, requests, positions := make([]api.SubmitResult, len(t.Items)), make([]api.SubmitRequest, 0, len(t.Items)), make([]int, 0, len(t.Items))
	for i := range t.Items {
		if results[i].Error = t.Items[i].Decode(ns); results[i].Error == nil {
			t.Items[i].Request.Minimal = minimal
			requests, positions = append(requests, t.Items[i].Request), append(positions, i)
		} else {
			results[i].Error = h.typed(results[i].Error)
		}
	}
	ctx, meta := r.call()
	if len(requests) > 0 {
		answers, err := h.service.SubmitBatch(ctx, requests)
		if err != nil {
			return err
		}
		for i, at := range positions {
			results[at] = answers[i]
			if e := results[at].Error; e != nil {
				results[at].Error = h.typed(e)
				refused(h, r.Request, r.route, t.Items[at].Request.Namespace, e)
			}
		}
	}
	if minimal {
		w.Header().Set(codec.AppliedHeader, codec.ReturnMinimal)
		return answerList(w, meta, "results", codec.ShortResults(results), nil)
	}
	return answerList(w, meta, "results", codec.Whole(results), nil)
}

// awaitReply waits after a submit has been done, for as long as the request says. If anything ends the wait too early, the task
// is still there, so the answer is the answer to the submit.
func (h *handler) awaitReply(r *request, reply *api.SubmitReply, wait time.Duration, index uint64) (meta *api.Meta, err error) {
	ctx, meta := api.WithMeta(r.Context())
	ctx, cancel := h.untilStopping(ctx)
	defer cancel()
	// This node was told the submit's outcome: its own state is new enough as soon as it has the submit's entry.
	err = reply.Await(ctx, h.service, api.GetOptions{Wait: wait, Stale: true, MinIndex: index})
	if api.CodeOf(err) == api.CodeRemoved {
		return nil, err
	}
	if err != nil {
		reply.TimedOut = true
	}
	api.SetIndex(ctx, index)
	return meta, nil
}

package server

import (
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// storeProblem is a problem that clients of the TaskStore API understand, too.
type storeProblem struct {
	*api.Error
	codec.StoreProblemFields
}

func newStoreProblem(e *api.Error) storeProblem {
	return storeProblem{e, codec.StoreProblemFields{Errors: []string{e.Error()}}}
}

// serveStore dispatches below /taskstore/. It does so by hand, because the name of a group is the rest of the path: "//", "."
// or a slash at the end are part of the name, and net/http would clean them away.
func (h *handler) serveStore(w http.ResponseWriter, r *http.Request) {
	kind, rest, more := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), codec.StorePrefix), "/")
	value, err := url.PathUnescape(rest)
	pattern, name := codec.StorePrefix+kind, ""
	switch {
	case kind == "group" && more:
		name = "group"
	case kind == "task":
		name = "id"
	case kind == "tasks":
		name = "ids"
	}
	if name != "" {
		pattern += "/{" + name + "}"
		r.SetPathValue(name, value)
	}
	found, known := h.store[pattern]
	if !known || err != nil || name == "" && more {
		h.problem(w, r, api.NewError(api.CodeNotFound, "there is nothing at %.200s", r.URL.Path))
		return
	}
	found.ServeHTTP(w, r)
}

// storeGroups is GET /taskstore/groups.
func (h *handler) storeGroups(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	names, err := h.service.StoreGroups(ctx, ns)
	if err != nil {
		return err
	}
	return storeList(w, meta, func(yield func(string, error) bool) {
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	})
}

// storeGroup is GET /taskstore/group/{group}.
func (h *handler) storeGroup(w http.ResponseWriter, r *request) error {
	q, group := r.query, r.PathValue("group")
	ns, limit, owned := q.namespace(), q.text("limit"), q.text("owned")
	most := 0
	if limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil {
			q.fail(api.FieldError(api.CodeInvalidField, "limit", "must be a whole number"))
		}
		most = max(n, 0)
	}
	all := false
	switch strings.ToLower(owned) {
	case "", "0", "no", "false":
	case "1", "yes", "true":
		all = true
	default:
		q.fail(api.FieldError(api.CodeInvalidField, "owned", "must be 0, 1, no, yes, false or true"))
	}
	if err := q.done(); err != nil {
		return err
	}
	if err := api.CheckStoreGroup(&ns, group); err != nil {
		return err
	}
	ctx, meta := r.call()
	list, err := h.service.StoreGroup(ctx, ns, group, most, all)
	if err != nil {
		return err
	}
	return storeList(w, meta, iter.Seq2[*api.StoreTask, error](list))
}

// storeTask is GET /taskstore/task/{id}.
func (h *handler) storeTask(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	id, bad := parseStoreID("id", r.PathValue("id"))
	if bad != nil {
		return bad
	}
	ctx, meta := r.call()
	tasks, err := api.CollectStore(h.service.StoreTasks(ctx, ns, []uint64{id}))
	switch {
	case err != nil:
		return err
	case tasks[0] == nil:
		return api.NewError(api.CodeTaskNotFound, "no task %d", id)
	}
	return h.answer(w, http.StatusOK, meta, tasks[0])
}

// storeTasks is GET /taskstore/tasks/{ids}.
func (h *handler) storeTasks(w http.ResponseWriter, r *request) error {
	q, list := r.query, r.PathValue("ids")
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	var ids []uint64
	if list != "" {
		if n := strings.Count(list, ",") + 1; n > api.MaxStoreParts {
			return api.LimitError("ids", api.MaxStoreParts, "%d IDs, at most %d", n, api.MaxStoreParts)
		}
		for part := range strings.SplitSeq(list, ",") {
			id, bad := parseStoreID("ids", part)
			if bad != nil {
				return bad
			}
			ids = append(ids, id)
		}
	}
	ctx, meta := r.call()
	records, err := h.service.StoreTasks(ctx, ns, ids)
	if err != nil {
		return err
	}
	return storeList(w, meta, iter.Seq2[*api.StoreTask, error](records))
}

func parseStoreID(field, s string) (uint64, *api.Error) {
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '+' {
		return 0, api.FieldError(api.CodeInvalidField, field, "%.40q is not the ID of a task: only digits", s)
	}
	return id, nil
}

// storeUpdate is POST /taskstore/update.
func (h *handler) storeUpdate(w http.ResponseWriter, r *request) error {
	var body codec.StoreUpdateBody
	ns, release, err := h.readStore(w, r, &body)
	if err != nil {
		return err
	}
	defer release()
	if body.ClientID == nil {
		return api.FieldError(api.CodeInvalidField, "clientid", "is required")
	}
	req := api.StoreUpdateRequest{Namespace: ns, ClientID: *body.ClientID, Deletes: body.Deletes, Depends: body.Depends}
	for _, x := range body.Adds {
		req.Adds = append(req.Adds, api.StoreAdd{Group: x.Group, Data: x.Data, Timespec: timespec(x.Timespec, x.Duration)})
	}
	for _, x := range body.Updates {
		req.Updates = append(req.Updates, api.StoreChange{ID: x.ID, Data: x.Data, Timespec: timespec(x.Timespec, x.Duration)})
	}
	ctx, meta := r.call()
	reply, err := h.service.StoreUpdate(ctx, req)
	return h.answerStore(w, meta, reply, err)
}

// timespec returns the value of the two fields timespec and duration, which mean the same.
func timespec(timespec, duration *int64) int64 {
	switch {
	case timespec != nil:
		return *timespec
	case duration != nil:
		return *duration
	}
	return 0
}

// storeClaim is POST /taskstore/claim.
func (h *handler) storeClaim(w http.ResponseWriter, r *request) error {
	var body codec.StoreClaimBody
	ns, release, err := h.readStore(w, r, &body)
	if err != nil {
		return err
	}
	defer release()
	if body.ClientID == nil {
		return api.FieldError(api.CodeInvalidField, "clientid", "is required")
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	if body.Duration > most {
		e := api.FieldError(api.CodeInvalidField, "duration", "%d ms, at most %d", body.Duration, most)
		e.Limit = most
		return e
	}
	req := api.StoreClaimRequest{
		Namespace: ns, ClientID: *body.ClientID, Group: body.Group,
		Duration: time.Duration(max(body.Duration, 0)) * time.Millisecond, Depends: body.Depends,
	}
	ctx, meta := r.call()
	reply, err := h.service.StoreClaim(ctx, req)
	return h.answerStore(w, meta, reply, err)
}

// readStore reads a body as existing clients send it, whatever Content-Type they give it.
func (h *handler) readStore(w http.ResponseWriter, r *request, dst any) (namespace string, release func(), err error) {
	q := r.query
	namespace = q.namespace()
	if err := q.done(); err != nil {
		return "", nil, err
	}
	body, release, err := h.readBody(w, r, api.MaxBody, h.config.BodyTimeout)
	if err != nil {
		return "", nil, err
	}
	if bad := codec.TaskStore.Decode(body, dst); bad != nil {
		release()
		return "", nil, bad
	}
	return namespace, release, nil
}

func (h *handler) answerStore(w http.ResponseWriter, meta *api.Meta, reply *api.StoreReply, err error) error {
	switch {
	case err != nil:
		return err
	case reply.Errors != nil:
		e := wholeErrors(reply.Errors)
		return h.answer(w, http.StatusOK, meta, codec.StoreErrorsAnswer{Errors: textsOf(e), Error: e})
	case reply.Tasks == nil:
		reply = &api.StoreReply{Tasks: []*api.StoreTask{}}
	}
	return h.answer(w, http.StatusOK, meta, codec.StoreTasksAnswer{Tasks: reply.Tasks})
}

// wholeErrors returns the errors with [] for lists that are empty.
func wholeErrors(e *api.StoreErrors) *api.StoreErrors {
	list := func(ids []uint64) []uint64 { return append([]uint64{}, ids...) }
	return &api.StoreErrors{Changes: list(e.Changes), Deletes: list(e.Deletes), Depends: list(e.Depends), Owned: list(e.Owned)}
}

// textsOf says in words what the errors are.
func textsOf(e *api.StoreErrors) []string {
	var all []string
	say := func(ids []uint64, format string) {
		for _, id := range ids {
			all = append(all, fmt.Sprintf(format, id))
		}
	}
	say(e.Changes, "task %d is to be updated, but is not there")
	say(e.Deletes, "task %d is to be deleted, but is not there")
	say(e.Depends, "task %d is depended on, but is not there")
	say(e.Owned, "task %d is owned by another client")
	return all
}

// storeList writes a list element by element, so that only one element is in memory twice.
func storeList[T any](w http.ResponseWriter, meta *api.Meta, elements iter.Seq2[T, error]) error {
	conn := http.NewResponseController(w)
	next := []byte{'['}
	for v, err := range elements {
		begun := next[0] == ','
		switch {
		case err != nil && !begun:
			return err
		case err != nil:
			panic(http.ErrAbortHandler) // half a list must not look like a whole one
		case !begun:
			setIndexHeader(w, meta)
			head(w, codec.JSONMedia)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(append(next, codec.Encode(v)...)); err != nil {
			return nil // the client has gone
		}
		next = []byte{','}
	}
	if next[0] == ',' {
		next = nil
	} else {
		setIndexHeader(w, meta)
		head(w, codec.JSONMedia)
	}
	_, _ = w.Write(append(next, "]\n"...))
	return nil
}

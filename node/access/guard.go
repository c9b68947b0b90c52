package access

import (
	"cmp"
	"context"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

// Record is what decides who may see or change a task or an operation.
type Record struct {
	Behavior string
	Creator  uint64 // the number of the token that created it; 0: none
	Lease    uint64 // the token of its lease; 0: it has none
}

// Records are the tasks and operations of one state of the cluster. There is none: nil.
type Records interface {
	Task(namespace, id string) *Record
	Operation(namespace, id string) *Record
}

// Looks let the guard look at records.
type Looks struct {
	Local func(func(Records))                        // at the node's own state
	Read  func(context.Context, func(Records)) error // linearizably
}

// guarded is a Service that asks for roles (SPEC A5). It embeds no other Service: a method that is new to api.Service does not compile until
// somebody has said here who may call it. The context says who calls; nobody is the node itself, or an open cluster.
type guarded struct {
	taskGuard    // of tasks and operations, which are looked at one by one
	clusterGuard // of all else
}

type (
	taskGuard    struct{ *guard }
	clusterGuard struct{ *guard }
)

// guard is what both halves know.
type guard struct {
	to   api.Service
	gate *Gate
	look Looks
}

// Guard returns a Service that lets callers do with s what their roles allow.
func (g *Gate) Guard(s api.Service, look Looks) api.Service {
	x := &guard{s, g, look}
	return guarded{taskGuard{x}, clusterGuard{x}}
}

// The rules that methods share. The table of routes says the same of the routes.
var (
	everywhereRead    = auth.Rule{Scope: auth.Everywhere, Of: access.Read}
	everywhereOperate = auth.Rule{Scope: auth.Everywhere, Of: access.Operate}
)

// in checks a rule for a namespace; "" is the default one.
func in(ctx context.Context, scope auth.Scope, roles access.Roles, namespace, behavior string) error {
	return auth.Rule{Scope: scope, Of: roles}.Check(auth.PrincipalOf(ctx), orDefault(namespace), behavior)
}

func orDefault(namespace string) string { return cmp.Or(namespace, api.DefaultNamespace) }

// kind finds a task or an operation.
type kind func(r Records, namespace, id string) *Record

// check returns an error if the caller has neither the role for a record nor created it. A record that is not there is not refused: the
// Service says that it is not there. This is an early refusal, which spares the log a command. What the caller changes Apply looks at again
// (task.Steers), because the ID may have gone to another record by then; and Apply leaves out of the audit what is the caller's own.
func (x *guard) check(ctx context.Context, find kind, role access.Roles, namespace string, ids ...string) error {
	p := auth.PrincipalOf(ctx)
	if p == nil {
		return nil
	}
	namespace = orDefault(namespace)
	if err := in(ctx, auth.Namespace, role|access.Submit, namespace, ""); err != nil {
		return err
	}
	if role&auth.Audited != 0 {
		auth.TrailOf(ctx).Mark()
	}
	if p.Grant.Whole(role, namespace) {
		return nil
	}
	var lacking *Record
	err := x.look.Read(ctx, func(r Records) {
		for _, id := range ids {
			if rec := find(r, namespace, id); rec != nil && !may(p, role, namespace, rec) {
				lacking = rec
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if lacking != nil {
		return auth.Rule{Scope: auth.Behavior, Of: role}.Check(p, namespace, lacking.Behavior)
	}
	return nil
}

// once returns a guard for one request of many parts: the node catches up now, and all parts are looked at in its own state. Who has every
// role everywhere in the request needs no look.
func (x *guard) once(ctx context.Context) (*guard, error) {
	p := auth.PrincipalOf(ctx)
	if p == nil || p.Grant.Everywhere(access.Operate) && p.Grant.Everywhere(access.Work) && p.Grant.Everywhere(access.Read) {
		return x, nil
	}
	if err := x.look.Read(ctx, func(Records) {}); err != nil {
		return nil, err
	}
	one := *x
	one.look.Read = func(_ context.Context, fn func(Records)) error {
		x.look.Local(fn)
		return nil
	}
	return &one, nil
}

// refusal returns an error as the answer to one of many. What is no error of the API must not let anything pass.
func refusal(err error) *api.Error {
	if err == nil {
		return nil
	}
	if e := api.ErrorOf(err); e != nil {
		return e
	}
	return api.NewError(api.CodeNoLeader, "the rights could not be looked at: %v", err)
}

// may reports whether a principal may do with a record what needs the role. Who creates a record may do so by the role submit.
func may(p *auth.Principal, role access.Roles, namespace string, rec *Record) bool {
	return p.Grant.Allows(role, namespace, rec.Behavior) || own(p, namespace, rec)
}

// own reports whether a record is the principal's own, and the principal may still submit there.
func own(p *auth.Principal, namespace string, rec *Record) bool {
	return rec.Creator == p.Number && p.Grant.In(access.Submit, namespace)
}

// reports checks the role work for a report of an attempt. A record of the node's own state that has the lease is the right one.
func (x *guard) reports(ctx context.Context, namespace, id string, lease uint64) error {
	p := auth.PrincipalOf(ctx)
	namespace = orDefault(namespace)
	if err := in(ctx, auth.Namespace, access.Work, namespace, ""); err != nil || p == nil || p.Grant.Whole(access.Work, namespace) {
		return err
	}
	var rec *Record
	x.look.Local(func(r Records) { rec = r.Task(namespace, id) })
	if rec == nil || rec.Lease != lease {
		if err := x.look.Read(ctx, func(r Records) { rec = r.Task(namespace, id) }); err != nil {
			return err
		}
	}
	if rec == nil {
		return nil // the Service answers that the worker must halt
	}
	return in(ctx, auth.Behavior, access.Work, namespace, rec.Behavior)
}

// sight is what a caller may see of a namespace: everything (nil), or what the function says.
func sight(ctx context.Context, namespace string) func(behavior string, creator uint64) bool {
	p := auth.PrincipalOf(ctx)
	namespace = orDefault(namespace)
	if p == nil || p.Grant.Whole(access.Read, namespace) {
		return nil
	}
	return func(behavior string, creator uint64) bool {
		return may(p, access.Read, namespace, &Record{Behavior: behavior, Creator: creator})
	}
}

// read makes a call that reads, if err is nil, and looks at the token again when the call has its answer: a revocation that was
// acknowledged before the read began holds (SPEC A4).
func read[T any](ctx context.Context, x *guard, err error, call func() (T, error)) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	got, err := call()
	if err != nil {
		return answer, err
	}
	if err := x.gate.Still(auth.PrincipalOf(ctx)); err != nil {
		letGo(got)
		return answer, err
	}
	return got, nil
}

// letGo gives back what an answer holds that is handed to nobody: an open file, a place among those that export or follow, leases.
func letGo(answer any) {
	switch a := answer.(type) {
	case io.Closer:
		_ = a.Close() // nothing was read of it
	case api.EventStream:
		a.Close()
	case *api.BlobContent:
		_ = a.Body.Close()
	case *api.AcceptReply:
		if a.Undelivered != nil {
			a.Undelivered() // the tasks are for others
		}
	}
}

// wait is read for a call that may take long: it ends with its token.
func wait[T any](ctx context.Context, x *guard, err error, call func(context.Context) (T, error)) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	long, end, err := x.gate.Long(ctx, auth.PrincipalOf(ctx))
	if err != nil {
		return answer, err
	}
	defer end()
	got, err := read(ctx, x, nil, func() (T, error) { return call(long) })
	if e := ended(ctx, long); e != nil {
		if err == nil {
			letGo(got)
		}
		return answer, e
	}
	return got, err
}

// visible is wait for a record that may be looked at as long as see has no objection: by the end another record may have its ID.
func visible[T any](ctx context.Context, x *guard, see func() error, call func(context.Context) (T, error)) (answer T, _ error) {
	got, err := wait(ctx, x, see(), call)
	if err == nil {
		err = see()
	}
	if err != nil {
		return answer, err
	}
	return got, nil
}

// ended returns why a long call was ended, if it was its token's fault.
func ended(ctx, long context.Context) error {
	if long.Err() != nil && ctx.Err() == nil {
		return context.Cause(long)
	}
	return nil
}

// shown is a task as it is shown to a caller that may change it, or has met it, but may not see it: which task it is, and its state (SPEC A5).
func (x *guard) shown(ctx context.Context, t *api.Task) *api.Task {
	p := auth.PrincipalOf(ctx)
	if t == nil || p == nil || p.Grant.Allows(access.Read, t.Namespace, t.Behavior) {
		return t
	}
	var rec *Record
	x.look.Local(func(r Records) { rec = r.Task(t.Namespace, t.ID) })
	if rec != nil && may(p, access.Read, t.Namespace, rec) {
		return t
	}
	return &api.Task{Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Labels: map[string]string{}, History: []api.Attempt{}}
}

// operation is shown in the place of an operation: a caller that may not see it is told that it is done, and what it is.
func (x *guard) operation(ctx context.Context, o *api.Operation) *api.Operation {
	if o == nil || x.seesOperation(ctx, o) {
		return o
	}
	return &api.Operation{Namespace: o.Namespace, ID: o.ID, Behavior: o.Behavior, Status: o.Status, Labels: map[string]string{}}
}

func (x *guard) seesOperation(ctx context.Context, o *api.Operation) bool {
	p := auth.PrincipalOf(ctx)
	if p == nil || p.Grant.Allows(access.Read, o.Namespace, o.Behavior) {
		return true
	}
	var rec *Record
	x.look.Local(func(r Records) { rec = r.Operation(o.Namespace, o.ID) })
	return rec != nil && may(p, access.Read, o.Namespace, rec)
}

// conflict takes an operation that the caller may not see out of an error.
func (x *guard) conflict(ctx context.Context, err error) error {
	e := api.ErrorOf(err)
	if e == nil || e.Operation == nil || x.seesOperation(ctx, e.Operation) {
		return err
	}
	hidden := *e
	hidden.Operation, hidden.Detail = nil, "it meets an operation that this token may not see"
	return &hidden
}

package auth

import (
	"context"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task/access"
)

// Scope is for what a call needs a role.
type Scope uint8

// The scopes. The zero Scope is none: a route or a method that was forgotten lets nobody in.
const (
	// Open calls need no token.
	Open Scope = iota + 1
	// Any token may make the call. A token for members may not.
	Any
	// Members is Everywhere, and a token for members may make the call, too.
	Members
	// Somewhere needs a role in one namespace, whichever, for one behavior, whichever.
	Somewhere
	// Namespace needs a role in the namespace, for one behavior, whichever: what the call finds there is looked at by itself.
	Namespace
	// Behavior needs a role for one behavior of the namespace.
	Behavior
	// Whole needs a role for every behavior of the namespace.
	Whole
	// Everywhere needs a role for every behavior of every namespace.
	Everywhere
)

// Rule says what a call needs (SPEC A5): one of the roles Of, and all of the roles And, for the Scope.
type Rule struct {
	Scope Scope
	Of    access.Roles
	And   access.Roles
}

// Check returns an error if a principal may not make a call by the rule. Nobody to ask is an open cluster, where everybody may.
// namespace and behavior mean something only to rules of their scope.
func (r Rule) Check(p *Principal, namespace, behavior string) error {
	if p == nil || r.Scope == Open {
		return nil
	}
	if p.Members {
		if r.Scope == Members {
			return nil
		}
		return api.NewError(api.CodeForbidden, "a worker secret's token may only ask where the members of the cluster are")
	}
	if r.Scope == Any {
		return nil
	}
	if r.Scope == Namespace || r.Scope == Behavior || r.Scope == Whole {
		if !p.Grant.In(access.All, namespace) {
			return api.UnknownNamespace(namespace)
		}
	}
	if r.Of != 0 && !r.gives(&p.Grant, r.Of, namespace, behavior) {
		return Forbidden(r.Of, r.where(namespace, behavior))
	}
	for _, name := range r.And.Names() {
		if role, _ := access.Role(name); !r.gives(&p.Grant, role, namespace, behavior) {
			return Forbidden(role, r.where(namespace, behavior))
		}
	}
	if r.Of|r.And == 0 {
		return api.NewError(api.CodeForbidden, "nobody may do this: no rule says who")
	}
	return nil
}

// Caller returns who makes a call, if the rule lets the call pass. Unlike Check it refuses the calls of nobody: what it guards is there only where
// callers are asked who they are.
func (r Rule) Caller(ctx context.Context) (*Principal, error) {
	p := PrincipalOf(ctx)
	if p == nil {
		return nil, Unauthenticated()
	}
	return p, r.Check(p, "", "")
}

// AdminEverywhere is what needs the role admin for everything.
var AdminEverywhere = Rule{Scope: Everywhere, Of: access.Admin}

// gives reports whether a grant gives one of the roles for what the rule is about.
func (r Rule) gives(g *access.Grant, roles access.Roles, namespace, behavior string) bool {
	switch r.Scope {
	case Somewhere:
		return g.Roles&roles != 0
	case Namespace:
		return g.In(roles, namespace)
	case Behavior:
		return g.Allows(roles, namespace, behavior)
	case Whole:
		return g.Whole(roles, namespace)
	case Members, Everywhere:
		return g.Everywhere(roles)
	}
	return false
}

// where says in words for what a role is needed.
func (r Rule) where(namespace, behavior string) string {
	switch r.Scope {
	case Namespace:
		return " in namespace " + namespace
	case Behavior:
		return access.ForBehavior(behavior, namespace)
	case Whole:
		return " for every behavior of namespace " + namespace
	case Members, Everywhere:
		return " for every behavior of every namespace"
	}
	return ""
}

// String says in words what the rule asks for.
func (r Rule) String() string {
	place := ""
	switch r.Scope {
	case Open:
		return "nothing"
	case Any:
		return "a token"
	case Members:
		return "read for everything, or the token of a worker secret"
	case Somewhere:
		place = " in some namespace"
	case Namespace:
		place = " in the namespace, for what it is about"
	case Behavior:
		place = " for the behavior"
	case Whole:
		place = " for every behavior of the namespace"
	case Everywhere:
		place = " for everything"
	}
	if r.And != 0 {
		return strings.Join(r.And.Names(), " and ") + place
	}
	return strings.Join(r.Of.Names(), " or ") + place
}

// Forbidden says which role is lacking, or that one of several is, and for what.
func Forbidden(roles access.Roles, where string) *api.Error {
	return api.NewError(api.CodeForbidden, "%s", access.Lack(roles, where))
}

// Unauthenticated is the answer to a request without a token that holds. It does not say what is wrong with the token.
func Unauthenticated() *api.Error {
	return api.NewError(api.CodeUnauthenticated, "this needs a token that holds: Authorization: Bearer trt_…")
}

// Of what several routes and methods need one role. Who creates a task or an operation may look at it and steer it, by the role
// submit alone.
const (
	SeeTasks     = access.Read | access.Submit
	Steer        = access.Operate | access.Submit
	Change       = access.Submit | access.Work | access.Operate // the parts of a transaction
	SeeBehaviors = access.Read | access.Submit | access.Work | access.Deploy | access.Operate
	CountTasks   = access.Read | access.Work | access.Operate
	SeeFiles     = access.Read | access.Submit | access.Work // the digest of a file is the right to it
	PutFiles     = access.Submit | access.Work
)

// StoreWrite is what changes of the records of the TaskStore API need (SPEC A5): they create work, and take it.
var StoreWrite = Rule{Scope: Whole, And: access.Submit | access.Work}

// Package membership is the contract of changes of a cluster's members: who votes, who is removed, and who leads (SPEC C2).
package membership

import (
	"context"
	"embed"

	"github.com/taskrt/taskrt/api"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go
var Sources embed.FS

// Action is what an operator does to a member.
type Action string

// The actions.
const (
	Approve Action = "approve" // it votes as soon as it has caught up
	Demote  Action = "demote"  // it follows without a vote, until it is approved again
	Remove  Action = "remove"  // it belongs to the cluster no longer, and its directory never comes back
)

// Actions lists the actions.
var Actions = []Action{Approve, Demote, Remove}

// MemberRequest is how an action is to be carried out.
type MemberRequest struct {
	Force bool `json:"force,omitempty"` // demote and remove: even if no majority would be left alive
}

// Check returns an error if the request makes no sense for the action.
func (r *MemberRequest) Check(node string, a Action) error {
	if err := api.CheckNode(node); err != nil {
		return err
	}
	if r.Force && a == Approve {
		return api.FieldError(api.CodeInvalidField, "force", "approve takes nothing away, so there is nothing to force")
	}
	return nil
}

// Removed is the role of a node that was removed, in the reply that says so.
const Removed = "removed"

// MemberReply is the member after an action. Done says that the configuration is as it was asked for. Otherwise the leader makes it so as soon as it
// can: it promotes a newcomer when the newcomer has caught up, and removes no node while no majority would be left.
type MemberReply struct {
	Node *api.Node `json:"node"`
	Done bool      `json:"done"`
}

// LeaderRequest asks for another leader.
type LeaderRequest struct {
	To string `json:"to,omitempty"` // a member that votes; absent: the one whose log is the most current
}

// Check returns an error for what cannot be a node's ID.
func (r *LeaderRequest) Check() error {
	if r.To == "" {
		return nil
	}
	return api.CheckNode(r.To)
}

// LeaderReply says who leads.
type LeaderReply struct {
	Leader string `json:"leader"`
}

// Members changes who votes, who belongs to the cluster, and who leads.
type Members interface {
	// Change carries out an action on a member. The errors have the codes member_not_found, no_majority and level_too_low, among others.
	Change(ctx context.Context, node string, a Action, r MemberRequest) (*MemberReply, error)
	// Transfer hands leadership over.
	Transfer(ctx context.Context, r LeaderRequest) (*LeaderReply, error)
}

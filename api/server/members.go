package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/task/access"
)

// memberRoutes are the routes by which an operator changes members (SPEC C2).
func memberRoutes() []route {
	const base = "/v1/cluster/members/{id}/"
	summaries := map[membership.Action]string{
		membership.Approve: "Let a member vote as soon as it has caught up.",
		membership.Demote:  "Take a member its vote until it is approved again; it goes on following.",
		membership.Remove:  "Remove a member for good. Its directory never comes back; an empty one of the same ID is a newcomer.",
	}
	routes := []route{{
		method: http.MethodPost, path: "/v1/cluster/transfer", id: "transferLeadership", needs: everywhere(access.Admin), serve: transferLeadership,
		summary: "Hand leadership over to another member.",
		body:    asJSON(membership.LeaderRequest{}), bodyOptional: true,
		answers: []success{ok(membership.LeaderReply{})}, errors: []string{api.CodeMemberNotFound},
	}}
	for _, a := range membership.Actions {
		routes = append(routes, route{
			method: http.MethodPost, path: base + string(a), id: string(a) + "Member", needs: everywhere(access.Admin), serve: changeMember(a),
			summary: summaries[a],
			body:    asJSON(membership.MemberRequest{}), bodyOptional: true,
			answers: []success{ok(membership.MemberReply{})}, errors: []string{api.CodeMemberNotFound, api.CodeNoMajority},
		})
	}
	return routes
}

// changeMember is POST /v1/cluster/members/{id}/approve and the like.
func changeMember(a membership.Action) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		id := r.PathValue("id")
		return askWith(h, w, r, h.config.Members, func(ctx context.Context, m membership.Members, q membership.MemberRequest) (any, error) {
			return m.Change(ctx, id, a, q)
		})
	}
}

// transferLeadership is POST /v1/cluster/transfer.
func transferLeadership(h *handler, w http.ResponseWriter, r *request) error {
	return askWith(h, w, r, h.config.Members, func(ctx context.Context, m membership.Members, q membership.LeaderRequest) (any, error) {
		return m.Transfer(ctx, q)
	})
}

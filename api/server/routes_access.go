package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// accessRoutes are the routes of tokens (SPEC A4).
func accessRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	const one = "/v1/tokens/{name}"
	none := []string{api.CodeTokenNotFound}
	return []route{
		{
			method: get, path: "/v1/tokens", id: "listTokens", needs: somewhere(access.Admin), serve: listTokens,
			summary: "List, by name, the tokens that the caller may manage.",
			query:   []param{{name: "limit", kind: numberParam, doc: "Of a page: 1 to 1000, default 100."}, {name: "cursor", doc: "Of the page before."}},
			answers: []success{ok(auth.TokensReply{})}, errors: none,
		},
		{
			method: post, path: "/v1/tokens", id: "createToken", needs: somewhere(access.Admin), serve: createToken,
			summary: "Make a token, which may do nothing that the caller may not.",
			body:    asJSON(auth.CreateTokenRequest{}),
			answers: []success{{http.StatusCreated, "It holds. The credential is shown this once.", asJSON(auth.CreatedToken{})}},
			errors:  append([]string{api.CodeTokenExists, api.CodeTooManyTokens}, none...),
		},
		{
			method: get, path: one, id: "getToken", needs: somewhere(access.Admin), serve: getToken,
			summary: "Get a token, without its credential.", answers: []success{ok(auth.Token{})}, errors: none,
		},
		{
			method: del, path: one, id: "revokeToken", needs: somewhere(access.Admin), serve: revokeToken,
			summary: "Revoke a token: what it does now ends, and it never holds again.", answers: []success{noContent}, errors: none,
		},
		{
			method: post, path: one + "/rotate", id: "rotateToken", needs: somewhere(access.Admin), serve: rotateToken,
			summary: "Give a token another credential. The former one holds for a while, so that its users can change.",
			body:    asJSON(auth.RotateTokenRequest{}), bodyOptional: true, answers: []success{ok(auth.CreatedToken{})}, errors: none,
		},
		{
			method: post, path: "/v1/tokens:disable-root", id: "disableRoot", needs: everywhere(access.Admin), serve: disableRoot,
			summary: "Turn the root token off. Only who holds the cluster secret turns it on again.",
			body:    asJSON(struct{}{}), bodyOptional: true, answers: []success{noContent}, errors: none,
		},
		{
			method: get, path: "/v1/audit", id: "audit", needs: everywhere(access.Admin), serve: showAudit,
			summary: "Who changed what: a page of records, or with Accept: text/event-stream a stream of them.",
			query: []param{
				{name: "after", kind: numberParam, doc: "The records behind this number. Default: a page begins with the oldest record, a stream with the next one."},
				{name: "limit", kind: numberParam, doc: "Of a page: 1 to 1000, default 100."},
				{name: "cursor", doc: "Of the page before, instead of after."},
				{name: "token", doc: "Only of this token: its name, or token:N."},
				{name: "route", doc: "Only by this route: a method, a space and a path, or a path."},
				{name: "namespace", doc: "Only in this namespace."},
				{name: "refused", kind: boolParam, doc: "true: only refusals for lack of a role; false: only changes."},
			},
			header: []param{{name: codec.LastEventID, kind: numberParam, doc: "Of a stream: after, for a client that goes on."}},
			answers: []success{{http.StatusOK, "A page, or the stream.", append(asJSON(auth.AuditReply{}), media{name: codec.EventMedia, doc: "" +
				"event: audit, data AuditRecord. id is its number. A comment comes every 15 s.", events: map[string]any{auth.AuditEvent: auth.AuditRecord{}}})}}, errors: none,
		},
		{
			method: get, path: "/v1/self", id: "getSelf", needs: anyToken, serve: getSelf,
			summary: "The token that makes the request.", answers: []success{ok(auth.Token{})}, errors: none,
		},
	}
}

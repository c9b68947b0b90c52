package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

var anybody = auth.Rule{Scope: auth.Open}

// signInRoutes are the routes of sessions, and of those who vouch for them (SPEC A7).
func signInRoutes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	none := []string{api.CodeIssuerNotFound}
	return []route{
		{
			method: get, path: "/v1/sign-in", id: "signInPlaces", needs: anybody, serve: signInPlaces,
			summary: "List the issuers at which people and workloads may sign in.", answers: []success{ok(auth.PlacesReply{})}, errors: none,
		},
		{
			method: post, path: "/v1/sign-in", id: "signIn", needs: anybody, serve: signIn,
			summary: "Begin a session by the token of an issuer. It ends by itself.",
			body:    asJSON(auth.SignInRequest{}),
			answers: []success{{http.StatusCreated, "It holds. The credential is shown this once.", asJSON(auth.CreatedToken{})}},
			errors:  append([]string{api.CodeSignInRefused, api.CodeIssuerAway, api.CodeForbidden, api.CodeTooManyTokens}, none...),
		},
		{
			method: del, path: "/v1/self", id: "signOut", needs: anyToken, serve: signOut,
			summary: "End the session, or revoke the token, that makes the request.", answers: []success{noContent}, errors: none,
		},
		{
			method: get, path: "/v1/issuers", id: "listIssuers", needs: everywhere(access.Admin), serve: listIssuers,
			summary: "List the issuers of OpenID Connect, with what their tokens give.", answers: []success{ok(auth.IssuersReply{})}, errors: none,
		},
		{
			method: put, path: "/v1/issuers/{name}", id: "putIssuer", needs: everywhere(access.Admin), serve: putIssuer,
			summary: "Take an issuer's word for people and workloads, or replace what its tokens give.",
			body:    asJSON(auth.Issuer{}), answers: []success{ok(auth.Issuer{})}, errors: append([]string{api.CodeSignInChanged}, none...),
		},
		{
			method: del, path: "/v1/issuers/{name}", id: "removeIssuer", needs: everywhere(access.Admin), serve: removeIssuer,
			summary: "Take an issuer's word no more. Sessions go on until they end or are revoked.", answers: []success{noContent},
			errors: append([]string{api.CodeSignInChanged}, none...),
		},
	}
}

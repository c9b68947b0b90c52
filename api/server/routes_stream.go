package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/api/stream"
)

// streamRoutes are the route of streams (SPEC H5).
func streamRoutes() []route {
	return []route{{
		method: http.MethodGet, path: stream.Path, id: "stream", needs: anyToken, serve: serveStream,
		summary: "Send requests and get answers as messages of a WebSocket, many at once.",
		answers: []success{{http.StatusSwitchingProtocols, "The WebSocket, of the subprotocol taskrt.v1+json or taskrt.v1+cbor.", nil}},
	}}
}

// serveStream is GET /v1/stream. Its requests come back to the handler.
func serveStream(h *handler, w http.ResponseWriter, r *request) error {
	return socket.Serve(w, r.Request, socket.Config{
		Handler: h, Problem: h.problem, Budget: h.bodies, Patience: h.config.BodyTimeout, Stopping: h.config.Stopping,
	})
}

// plain reports whether the body and the answers of a route are JSON, so that a stream can carry them.
func (r *route) plain() bool {
	all := r.body
	for _, a := range r.answers {
		if a.status == http.StatusSwitchingProtocols {
			return false
		}
		all = append(all[:len(all):len(all)], a.body...)
	}
	for _, m := range all {
		if m.name != codec.JSONMedia {
			return false
		}
	}
	return true
}

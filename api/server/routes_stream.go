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
	tokens, _ := h.config.Gate.(socket.Tokens) // an open cluster has none
	return socket.Serve(w, r.Request, socket.Config{
		Handler: h, Problem: h.problem, Budget: h.bodies, Patience: h.config.BodyTimeout, Stopping: h.config.Stopping, Tokens: tokens,
	})
}

// onStream returns what of a route a stream can carry: nothing if its body or an answer is neither JSON nor events.
func (to *route) onStream() (can socket.Carried) {
	all := to.body
	for _, a := range to.answers {
		can.JSON = can.JSON || a.body == nil && a.status != http.StatusSwitchingProtocols
		all = append(all[:len(all):len(all)], a.body...)
	}
	for _, m := range all {
		if m.name != codec.JSONMedia && m.name != codec.EventMedia {
			return socket.Carried{}
		}
		can.JSON, can.Events = can.JSON || m.name == codec.JSONMedia, can.Events || m.name == codec.EventMedia
	}
	return can
}

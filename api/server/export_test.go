package server

import (
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/sync/semaphore"
)

// Held says what of its bounded resources a handler holds while it answers nothing; "": nothing.
func Held(of http.Handler) string {
	h := of.(*handler)
	var held []string
	for name, room := range map[string]struct {
		of  *semaphore.Weighted
		all int64
	}{
		"bytes of bodies": {h.bodies, h.config.BodyBytes}, "bytes of bodies that add work": {h.added, h.config.AddingBytes},
		"places of requests": {h.requests, h.config.Requests}, "places of uploads": {h.uploads, maxUploads},
	} {
		if !room.of.TryAcquire(room.all) {
			held = append(held, name)
			continue
		}
		room.of.Release(room.all)
	}
	if n := h.adding.UnderWay(); n != 0 {
		held = append(held, fmt.Sprintf("%d places among requests that add work", n))
	}
	return strings.Join(held, ", ")
}

// EachRoute calls f with the method and the path of every route.
func EachRoute(f func(method, path string)) {
	for _, r := range routes() {
		f(r.method, r.path)
	}
}

// Crowd lets requests that add work get under way until no more are taken. They end with relent.
func Crowd(of http.Handler) (relent func()) {
	h, n := of.(*handler), 0
	for h.adding.Enter(1) {
		n++
	}
	return func() {
		for range n {
			h.adding.Leave(1, false)
		}
	}
}

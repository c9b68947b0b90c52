package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/admission"
)

// admit serves a request that adds work. If there is no room, it refuses the request before its body is read. The request is
// under way only when its body has been read, so that clients who send slowly keep nobody out.
func (h *handler) admit(r *request, serve func() error) (err error) {
	if !h.adding.Room() {
		return tooMuchWork()
	}
	served := false
	defer func() {
		if r.weight > 0 {
			h.adding.Leave(r.weight, served)
		}
	}()
	err = serve()
	served = err == nil || api.StatusOf(api.CodeOf(err)) < http.StatusInternalServerError && api.CodeOf(err) != api.CodeOverloaded
	return err
}

// bodyRead lets a request get under way when its body has come, if the request adds work.
func (h *handler) bodyRead(r *request, body []byte) error {
	if !r.route.adds {
		return nil
	}
	if !h.adding.Enter(admission.Weight(body)) {
		return tooMuchWork()
	}
	r.weight = admission.Weight(body)
	return nil
}

// doneAdding gives back the room that a request takes among those that add work. From here on the request only waits.
func (h *handler) doneAdding(r *request) {
	if r.weight > 0 {
		h.adding.Leave(r.weight, true)
		r.weight = 0
	}
}

func tooMuchWork() *api.Error {
	return api.NewError(api.CodeOverloaded, "more work is being added than this node takes")
}

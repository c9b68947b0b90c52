package location

import (
	"net/http"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// TestLocation: the path of what was created leads to it from any namespace.
func TestLocation(t *testing.T) {
	for want, created := range map[string]any{
		"/v1/tasks/a%2Fb?namespace=team%26x": &api.SubmitReply{Task: &api.Task{ID: "a/b", Namespace: "team&x"}},
		"/v1/tasks/one":                      &codec.MinimalReply{Task: codec.MinimalTask{ID: "one", Namespace: api.DefaultNamespace}},
		"/v1/operations/op?namespace=team":   codec.OperationAnswer{Operation: &api.Operation{ID: "op", Namespace: "team"}},
		"/v1/namespaces/team":                codec.NamespaceAnswer{Namespace: &api.Namespace{Name: "team"}},
		"/v1/tokens/ci":                      &auth.CreatedToken{Token: auth.Token{Name: "ci"}},
		"":                                   codec.TaskAnswer{},
	} {
		h := http.Header{}
		if Set(h, http.StatusOK, created); len(h) > 0 {
			t.Errorf("%T: %v without being new", created, h)
		}
		if Set(h, http.StatusCreated, created); h.Get(Header) != want {
			t.Errorf("%T: %q, want %q", created, h.Get(Header), want)
		}
	}
}

package apitest

import (
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
)

// TestCreatedBy: a task says which token created it, by its name, and when that is gone by its number. Nobody is named where nobody is asked
// (SPEC A5). A call of a token that is gone is refused by the log (A4).
func TestCreatedBy(t *testing.T) {
	f := NewFake()
	defer f.Close()
	if _, err := f.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: "work", Policy: []byte(`{"kind":"external"}`)}); err != nil {
		t.Fatal(err)
	}
	ann := auth.WithPrincipal(t.Context(), &auth.Principal{Number: f.AddToken("ann"), Name: "ann"})
	if r, err := f.Submit(ann, api.SubmitRequest{ID: "of-ann", Behavior: "work"}); err != nil || r.Task.CreatedBy != "ann" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := f.Submit(t.Context(), api.SubmitRequest{ID: "of-nobody", Behavior: "work"}); err != nil || r.Task.CreatedBy != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	f.store.apply([]task.Proposal{{Command: task.RevokeToken{Name: "ann"}}})
	if x, err := f.Task(t.Context(), "", "of-ann", api.GetOptions{}); err != nil || x.CreatedBy != "token:2" {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := f.Submit(ann, api.SubmitRequest{ID: "late", Behavior: "work"}); api.CodeOf(err) != api.CodeTokenRevoked {
		t.Errorf("of a token that is gone: %v", err)
	}
}

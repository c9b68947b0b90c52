package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
)

// compareAccess compares the access tokens, how they are found, and what is told of them (SPEC A4).
func (r *Run) compareAccess(events []task.Event) error {
	tokens := r.replicas[0].m.Access()
	names := slices.Sorted(maps.Keys(r.model.Access))
	i := 0
	for x := range tokens.After("") {
		if i >= len(names) || x.Name != names[i] {
			return fmt.Errorf("access token %s: not there, or not in order: %v", x.Name, names)
		}
		i++
		real := *x
		want := *r.model.Access[x.Name]
		if want.Rev = x.Rev; x.Rev == 0 || x.Rev > tokens.Rev() {
			return fmt.Errorf("access token %s: rev %d, and the last change was at %d", x.Name, x.Rev, tokens.Rev())
		}
		if d := diff("", real, want); d != "" {
			return fmt.Errorf("access token %s: %s", x.Name, d)
		}
		holds := r.model.Token(x.Number) != nil
		former := holds && x.FormerUntil > int64(r.model.Now)
		if tokens.Numbered(x.Number) != x || tokens.Named(x.Name) != x || (tokens.Hashed(x.Hash) == x) != holds || (tokens.Hashed(x.Former) == x) != former {
			return fmt.Errorf("access token %s is not found", x.Name)
		}
	}
	if i != len(names) || tokens.RootOff() != r.model.RootOff {
		return fmt.Errorf("%d access tokens, want %v; the root token is off: %t", i, names, tokens.RootOff())
	}
	told := map[string]bool{}
	for _, e := range events {
		switch {
		case e.Kind != task.AccessChanged && e.Kind != task.AccessRemoved:
			continue
		case e.Access != nil:
			told[e.Access.Name] = true
		default:
			told[""] = true
		}
		if e.Rev != tokens.Rev() && e.Rev > tokens.Rev() {
			return errors.New("an event of access tokens is younger than their last change")
		}
	}
	if !maps.Equal(told, r.model.Told) {
		return fmt.Errorf("told of access tokens: %v, want %v", told, r.model.Told)
	}
	if changed := tokens.Rev() != r.accessRev; changed != (len(told) > 0) {
		return fmt.Errorf("the rev of the access tokens went from %d to %d: %v", r.accessRev, tokens.Rev(), told)
	}
	r.accessRev = tokens.Rev()
	return nil
}

// compareSignIn compares the settings of sign-in (SPEC A7), and tells the model their rev.
func (r *Run) compareSignIn() error {
	settings, rev := r.replicas[0].m.Access().SignIn()
	if set := r.model.SignInRev == naive.NewSignIn; settings != r.model.SignIn || set != (rev != r.signInRev) || rev < r.signInRev {
		return fmt.Errorf("sign-in is set to %.40q at rev %d, want %.40q after %d", settings, rev, r.model.SignIn, r.signInRev)
	}
	r.model.SignInRev, r.signInRev = rev, rev
	return nil
}

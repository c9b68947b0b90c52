package anchor_test

import (
	"testing"

	"github.com/taskrt/taskrt/internal/anchor"
)

func TestOf(t *testing.T) {
	for heading, want := range map[string]string{
		"The task package: what, why?": "the-task-package-what-why", "no_leader": "no_leader", "A well-kept Übung 2": "a-well-kept-übung-2", "": "",
	} {
		if got := anchor.Of(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
	}
}

package corpustest

import (
	"os"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/task"
)

// TestVersions: this build reads all that released versions wrote (SPEC C4, C9).
func TestVersions(t *testing.T) {
	all, err := corpus.Versions()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	for _, v := range all {
		t.Run(v.Version, func(t *testing.T) {
			t.Parallel()
			Check(t, &v, "../../..")
		})
	}
}

// TestMissing: a command that no log has is named, if the version knows it.
func TestMissing(t *testing.T) {
	list, err := os.ReadFile("../../../task/command.go")
	if err != nil {
		t.Fatal(err)
	}
	var met commands
	met.add(task.Submit{})
	for known, last := range map[int]string{46: "command 46, SetSignIn", 47: "command 47, SetMember"} {
		if got := met.missing(t, &corpus.Version{Commands: known}, string(list)); len(got) != known-1 || got[0] != "command 2, Assign" || !slices.Contains(got, last) {
			t.Errorf("of %d: %q", known, got)
		}
	}
}

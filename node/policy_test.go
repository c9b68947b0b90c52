package node

import (
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// The defaults of SPEC B1, R2, R3, T9, L7, L8 and H3 stand in runtime, which must not know of tasks, and in task, which
// must not know of manifests. They have to be the same.
func TestDefaultsAgree(t *testing.T) {
	m, err := runtime.ParseManifest([]byte(`{"schema":1,"behaviors":[{"name":"all-defaults"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := policyOf(m.Settings(0)), task.DefaultPolicy(); !reflect.DeepEqual(got, want) {
		t.Errorf("a manifest that says nothing gives\n%+v\nthe state machine's default is\n%+v", got, want)
	}
}

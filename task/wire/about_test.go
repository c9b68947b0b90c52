package wire_test

import (
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

func TestAbout(t *testing.T) {
	k := task.Key{Namespace: "ns", ID: "id"}
	for _, c := range []task.Command{task.Submit{Namespace: k.Namespace, ID: k.ID}, task.Assign{Key: k}, task.Finish{Key: k}} {
		if ns, id := wire.About(c); (task.Key{Namespace: ns, ID: id}) != k {
			t.Errorf("%T: %s/%s", c, ns, id)
		}
	}
	if _, id := wire.About(task.Tick{}); id != "" {
		t.Errorf("a Tick is about %q", id)
	}
}

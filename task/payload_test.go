package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestProgressBecomesTheResult: what the last progress of an external task names is needed once it is the result (SPEC J4,
// M3); one that names what is not stored can be none, and the run goes on.
func TestProgressBecomesTheResult(t *testing.T) {
	r := newRig(t, nil)
	r.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "ext", Version: "e1", Policy: task.DefaultPolicy()})
	stored, gone := digest("ab"), digest("cd")
	r.must(task.NoteBlob{Digest: stored, Size: 3})
	r.must(task.NoteBlob{Digest: stored, Size: 3, Ready: true})
	c := submit("one")
	c.Behavior = "ext"
	r.must(c)
	lease := r.must(task.Assign{Key: key("one"), Rev: r.m.Task(key("one")).Rev, External: &task.Acceptor{Worker: "w"}}).Task.Lease
	text := fmt.Sprintf(`[{"$blob":"sha256:%s"},{"$blob":"sha256:%s"}]`, gone, stored)
	r.must(task.Beat{Key: key("one"), Token: lease.Token, Progress: &task.Payload{Encoding: task.JSON, Data: []byte(text)}, External: true})
	if b := r.m.Blob(stored); b.Refs != 0 {
		t.Fatalf("progress needs the blob %d times", b.Refs)
	}
	finish := task.Finish{Key: key("one"), Token: lease.Token, External: true}
	if x := r.apply(finish); x.Code != task.BlobGone || x.Field != "progress" || r.m.Task(key("one")).Status != task.Running {
		t.Errorf("it names a blob that is not stored: %+v", x)
	}
	text = fmt.Sprintf(`[{"$blob":"sha256:%s"}]`, stored)
	finish.Progress = &task.Payload{Encoding: task.JSON, Data: []byte(text)}
	done := r.must(finish).Task
	if string(done.Progress.Data) != text {
		t.Errorf("what has ended shows the progress %s", done.Progress.Data)
	}
	if b := r.m.Blob(stored); string(done.Result.Data) != text || b.Refs != 1 {
		t.Errorf("the result is %s, and needs the blob %d times", done.Result.Data, b.Refs)
	}
}

package stream

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestElementsAreTheLibrary: assignments and reports have the same bytes as the library's, and the library's bytes can
// be read.
func TestElementsAreTheLibrary(t *testing.T) {
	x := &task.Task{
		Namespace: "default", ID: "abc", Behavior: "b", Version: "v", Status: task.Running, Params: task.Payload{Encoding: task.JSON, Data: []byte("1")},
		Lease: &task.Lease{Token: 7, Seq: 1}, Attempt: 3, Priority: 4, Parent: "p",
	}
	for _, a := range []Assignment{
		{Task: x, Policy: new(task.DefaultPolicy()), Module: Module{Digest: "d", Size: 9}},
		{Task: &task.Task{}, Policy: &task.Policy{Index: 3}, Module: Module{Digest: "d"}},
	} {
		same(t, a, plainAssignment(a))
	}
	// An assignment omits what the assignment before it has. The library would not omit this, and nothing else differs.
	lean, err := modes.enc.Marshal(Assignment{Task: x})
	if err != nil {
		t.Fatal(err)
	}
	var plain plainAssignment
	if err := modes.dec.Unmarshal(lean, &plain); err != nil || !reflect.DeepEqual(plain, plainAssignment{Task: x}) {
		t.Errorf("read %+v, %v", plain, err)
	}
	finish := &task.Finish{Key: task.Key{Namespace: "default", ID: "abc"}, Token: 9, Result: task.Payload{Encoding: task.JSON, Data: []byte("{}")}}
	for _, id := range []uint64{0, 1, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		for _, r := range []Report{
			{ID: id, Finish: finish},
			{ID: id, Finish: &task.Finish{Error: &task.Error{Code: "X"}, Fuel: 12}},
			{ID: id, Finish: finish, Children: [][]byte{[]byte("{}")}},
			{ID: id, Beat: &task.Beat{Token: 3}},
			{ID: id, Snooze: &task.Snooze{Token: 3}},
			{ID: id, GiveBack: &task.GiveBack{Token: 3}},
			{ID: id},
		} {
			same(t, r, plainReport(r))
		}
	}
}

func same[T, P any](t *testing.T, v T, plain P) {
	t.Helper()
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	got, err := cd.enc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cd.enc.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%+v\nelement %x\nlibrary %x", v, got, want)
	}
	var back T
	if err := cd.dec.Unmarshal(want, &back); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("read %+v, %v, want %+v", back, err, v)
	}
}

// TestElementsAreWhole: an element that is cut short or holds something wrong is an error. It is never half a value.
func TestElementsAreWhole(t *testing.T) {
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := cd.enc.Marshal([]Report{{ID: 300, Finish: &task.Finish{Token: 9}}})
	if err != nil {
		t.Fatal(err)
	}
	var rs []Report
	for n := range whole {
		if err := cd.dec.Unmarshal(whole[:n], &rs); err == nil {
			t.Errorf("%d of %d bytes were read as %+v", n, len(whole), rs)
		}
	}
	for name, b := range map[string][]byte{
		"no task":                 {0xa1, 2, 0xa0},
		"a task that is a number": {0xa1, 1, 5},
		"null":                    {0xa1, 1, 0xf6, 0},
		"a list":                  {0x81, 1},
	} {
		var a Assignment
		if err := cd.dec.Unmarshal(b, &a); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if _, err := cd.enc.Marshal(Frame{Assign: []Assignment{{}}}); err == nil {
		t.Error("an assignment without a task was written")
	}
	// A finish of a newer build has fields that this build does not know.
	newer := append([]byte{0x81, 0xa2, 1, 5, 2, 0xa2, 2, 9}, 0x18, 99, 1)
	if err := cd.dec.Unmarshal(newer, &rs); err != nil || len(rs) != 1 || rs[0].ID != 5 || rs[0].Finish.Token != 9 {
		t.Error(fmt.Sprint(rs, err))
	}
}

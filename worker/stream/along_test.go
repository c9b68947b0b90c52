package stream

import (
	"errors"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestAlong: whatever pieces the bytes come in, an Along tells of assignments, modules and dead tokens, passes over the rest, and does not
// take what no leader says.
func TestAlong(t *testing.T) {
	t.Parallel()
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	frames := []Frame{
		{Welcome: &Welcome{Session: 1, TTL: 2, Leader: "n1"}},
		{Assign: []Assignment{
			{Task: &task.Task{Namespace: "ns", ID: "a", Behavior: "b", Lease: &task.Lease{Token: 5}}, Policy: &task.Policy{RunTimeout: 7}, Module: Module{Digest: "d", Size: 1}},
			{Task: &task.Task{Namespace: "ns", ID: "b", Behavior: "b", Lease: &task.Lease{Token: 6}}, Policy: &task.Policy{RunTimeout: 7}, Module: Module{Digest: "d", Size: 1}},
		}},
		{Acks: []Ack{{ID: 1}}}, {NotFound: true}, {Suspects: &Suspects{Wait: true}}, {Goodbye: &Goodbye{}}, {Halt: []uint64{5}}, {Renewed: &Renewed{N: 1}},
		{Prepare: []Module{{Digest: "e", Size: 2}}}, {Refused: &Refused{Code: NotLeader, Leader: "n2"}},
	}
	all := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0xa0} // two frames that say nothing: a Conn passes over them, too
	for i := range frames {
		if all, err = c.append(all, &frames[i], MaxFrame); err != nil {
			t.Fatal(err)
		}
	}
	for _, piece := range []int{1, 2, 3, 5, 6, 7, 64, len(all)} {
		var given, dead []uint64
		var named []string
		a, err := NewAlong(func(f *Frame) {
			for _, x := range f.Assign {
				if x.Task.Namespace != "ns" || x.Task.Behavior != "b" || x.Policy.RunTimeout != 7 {
					t.Errorf("%+v", x)
				}
				given = append(given, x.Task.Lease.Token)
			}
			dead = append(dead, f.Halt...)
			for _, m := range f.Prepare {
				named = append(named, m.Digest)
			}
			switch {
			case f.Welcome != nil:
				named = append(named, "welcome")
			case f.Renewed != nil:
				named = append(named, "renewed")
			case f.Refused != nil:
				named = append(named, "refused")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(slices.Concat(all, all), piece) {
			if n, err := a.Write(part); n != len(part) || err != nil {
				t.Fatalf("pieces of %d: %d, %v", piece, n, err)
			}
		}
		if !slices.Equal(given, []uint64{5, 6, 5, 6}) || !slices.Equal(dead, []uint64{5, 5}) {
			t.Errorf("pieces of %d: given %d, dead %d", piece, given, dead)
		}
		if once := []string{"welcome", "renewed", "e", "refused"}; !slices.Equal(named, slices.Concat(once, once)) {
			t.Errorf("pieces of %d: told of %q", piece, named)
		}
	}
	for _, bad := range [][]byte{{1, 0, 0, 1, 0, 0}, {0xff, 0, 0, 0, 0, 0}, {0, 0, 0, 3, 0xa1, keyAssign, 0}} {
		a, err := NewAlong(func(f *Frame) { t.Errorf("%x: %+v", bad, f) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(bad); !errors.Is(err, ErrBadFrame) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

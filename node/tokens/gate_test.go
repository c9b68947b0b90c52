package tokens

import (
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
)

// TestFind: until when each secret of a token holds, by the log's clock (SPEC A4).
func TestFind(t *testing.T) {
	former, next := access.Hash{1}, access.Hash{2}
	for _, c := range []struct{ ttl, overlap, former, next int64 }{
		{0, 0, -1, 0},
		{0, 500, 500, 0},
		{300, 500, 300, 300},
		{900, 500, 500, 900},
	} {
		m := task.NewMachine()
		apply := func(index uint64, cmd task.Command) {
			t.Helper()
			rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 1000}, []task.Proposal{{Command: cmd}})
			if rs[0].Code != task.OK {
				t.Fatal(rs[0])
			}
		}
		apply(1, task.RaiseLevel{Level: task.AccessLevel})
		apply(2, task.CreateToken{Name: "ci-job", Roles: 1, Namespaces: []string{"*"}, Behaviors: []string{"*"}, Hash: former[:], TTL: task.Millis(c.ttl)})
		apply(3, task.RotateToken{Name: "ci-job", Hash: next[:], Overlap: task.Millis(c.overlap)})
		for hash, until := range map[access.Hash]int64{former: c.former, next: c.next} {
			found := known{m.Access()}.Find(hash)
			switch {
			case until < 0 && found != nil, until >= 0 && found == nil:
				t.Errorf("%+v: %v: %+v", c, hash[0], found)
			case until > 0 && found.Until != 1000+until, until == 0 && found.Until != 0:
				t.Errorf("%+v: %v holds until %d", c, hash[0], found.Until)
			}
		}
	}
}

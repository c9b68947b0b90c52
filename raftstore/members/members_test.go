package members

import (
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noRaft is the raft of a node that belongs to no cluster.
type noRaft struct{ Raft }

func (noRaft) Servers() []raft.Server { return nil }

// TestWhoSucceeds: votes compare logs. Of any two nodes exactly one has the longer log, or is the chosen one of two
// equal logs.
func TestWhoSucceeds(t *testing.T) {
	type end struct {
		logEnd
		identity string
	}
	sorted := []end{ // in the order of succession, and the last node succeeds
		{logEnd{2, 10}, "n2/b"}, {logEnd{2, 10}, "n1/a"}, {logEnd{2, 11}, "n3/c"}, {logEnd{3, 5}, "n2/b"}, {logEnd{3, 6}, "n4/d"}, {logEnd{3, 6}, "n2/b"},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := a.before(b.logEnd, a.identity, b.identity); got != (i < j) {
				t.Errorf("%v before %v: %v", a, b, got)
			}
		}
	}
}

// TestLateRelease: a founder takes back the promises of a failed attempt. The release must not undo a promise to the
// founder's next attempt, however late it arrives. Otherwise the node could found a second cluster with others.
func TestLateRelease(t *testing.T) {
	b, err := OpenBook(t.TempDir(), Peer{ID: "n2"})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{}, b, noRaft{}, nil)
	q := promiseRequest{Founder: "n1/x", Set: []string{"n1/x", m.identity, "n3/z"}}
	ask := func(founder, attempt string, release bool) bool {
		q.Founder, q.Cluster, q.Release = founder, attempt, release
		a, err := m.answerPromise(q)
		if err != nil {
			t.Fatal(err)
		}
		return a.OK
	}
	if !ask("n1/x", "first", false) || !ask("n1/x", "second", false) {
		t.Fatal("no promise")
	}
	ask("n1/x", "first", true)
	if ask("n0/y", "other", false) {
		t.Fatal("promised to two founders")
	}
	ask("n1/x", "second", true)
	if !ask("n0/y", "other", false) {
		t.Fatal("not released")
	}
	if b, err = OpenBook(filepath.Dir(b.path), Peer{ID: "n2"}); err != nil || b.promisedTo() != "n0" || b.clusterID() != "other" {
		t.Fatalf("after a restart: promised to %q, %v", b.promisedTo(), err)
	}
}

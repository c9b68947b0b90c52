package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/internal/wall"
)

// Cluster shows the nodes and workers of a cluster, and how many tasks there are.
func Cluster(w *terminal.Table, s *api.Cluster) {
	Nodes(w, s.Nodes)
	w.Printf("\n")
	Workers(w, s.Workers)
	w.Printf("\n%s\n", levelLine(s.FeatureLevel))
	t := s.Tasks
	w.Printf("leader %s; tasks: %d created, %d running, %d retrying, %d repeating, %d succeeded, %d failed\n",
		OrDash(s.Leader), t.Created, t.Running, t.Retrying, t.Repeating, t.Success, t.Failure)
}

// levelLine says which feature level the cluster has reached, and who keeps it from the next one (SPEC C9).
func levelLine(l api.FeatureLevel) string {
	switch {
	case l.Level == l.Known:
		return fmt.Sprintf("feature level %d", l.Level)
	case len(l.HeldBy) == 0:
		return fmt.Sprintf("feature level %d; %d when all members have known it for ten minutes", l.Level, l.Level+1)
	}
	return fmt.Sprintf("feature level %d; %d is held up by %s", l.Level, l.Level+1, strings.Join(l.HeldBy, ", "))
}

// Nodes lists nodes.
func Nodes(w *terminal.Table, nodes []api.Node) {
	w.Row("NODE", "ROLE", "VOTE", "HTTP", "RAFT", "APPLIED", "DIGEST", "BLOBS", "DRAINED", "VERSION")
	// Some node always votes. If none does by the answer of several, a server of 0.1.0 gave it.
	told := len(nodes) == 1 || slices.ContainsFunc(nodes, func(n api.Node) bool { return n.Voter })
	for _, n := range nodes {
		vote := "-"
		if told {
			vote = voteWord(n)
		}
		w.Row(n.ID, n.Role, vote, OrDash(n.HTTP), n.Raft, n.AppliedIndex, OrDash(n.Digest), blobsWord(n.Blobs), n.Drained, OrDash(n.Version))
	}
}

// voteWord says whether a node votes, and if not, why.
func voteWord(n api.Node) string {
	switch {
	case n.Voter:
		return "yes"
	case n.Vote == "newcomer":
		return "when approved"
	case n.Vote == "held":
		return "held"
	case n.Role == membership.Removed, n.Role == "leader", n.Role == "follower": // the last two by the word of 0.1.0, which says nothing about votes
		return "-"
	}
	return "when caught up"
}

// Changed says what has become of a member.
func Changed(w *terminal.Table, a membership.Action, r *membership.MemberReply) {
	id := r.Node.ID
	switch {
	case a == membership.Approve && r.Done:
		w.Printf("%s votes\n", id)
	case a == membership.Approve:
		w.Printf("%s is approved; it votes when it has caught up, and when the majority does not depend on it alone\n", id)
	case a == membership.Demote && r.Done:
		w.Printf("%s does not vote any more; `taskrt cluster approve %s` changes that\n", id, id)
	case a == membership.Remove && r.Done:
		w.Printf("%s was removed; its directory may be deleted\n", id)
	default:
		w.Printf("it is settled for %s, and comes true as soon as there is a leader and a majority of the others is alive\n", id)
	}
}

// blobsWord says in what state the files of a node are.
func blobsWord(b *api.NodeBlobs) string {
	switch {
	case b == nil:
		return "-"
	case b.Error != "":
		return "disk fails"
	case b.Missing > 0:
		return fmt.Sprintf("%d missing", b.Missing)
	}
	return "ok"
}

// Workers lists workers.
func Workers(w *terminal.Table, workers []api.Worker) {
	w.Row("WORKER", "KIND", "NODE", "SLOTS", "RUNNING", "DRAINED", "WALL")
	for _, k := range workers {
		slots := "-"
		if k.Slots > 0 {
			slots = fmt.Sprint(k.Slots)
		}
		w.Row(k.ID, k.Kind, OrDash(k.Node), slots, k.Running, k.Drained, wallWord(k.Wall))
	}
}

// wallWord lists what is in force around a worker's guests, and with a minus what is not.
func wallWord(w *api.Wall) string {
	if w == nil {
		return "-"
	}
	return OrDash(strings.Join(wall.State(*w).Words(), ","))
}

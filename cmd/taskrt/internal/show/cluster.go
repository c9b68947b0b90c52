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
	// Some node always votes. If none does by the answer of several, a server of 0.1.0 gave it.
	told := len(nodes) == 1 || slices.ContainsFunc(nodes, func(n api.Node) bool { return n.Voter })
	List(w, nodes, true, []Column[api.Node]{
		{Name: "NODE", Cell: func(n api.Node) any { return n.ID }},
		{Name: "ROLE", Cell: func(n api.Node) any { return n.Role }},
		{Name: "VOTE", Cell: func(n api.Node) any {
			if !told {
				return "-"
			}
			return voteWord(n)
		}},
		{Name: "HTTP", Cell: func(n api.Node) any { return OrDash(n.HTTP) }},
		{Name: "RAFT", Cell: func(n api.Node) any { return n.Raft }},
		{Name: "APPLIED", Cell: func(n api.Node) any { return n.AppliedIndex }},
		{Name: "DIGEST", Cell: func(n api.Node) any { return OrDash(n.Digest) }},
		{Name: "BLOBS", Cell: func(n api.Node) any { return blobsWord(n.Blobs) }},
		{Name: "DRAINED", Cell: func(n api.Node) any { return n.Drained }},
		{Name: "VERSION", Cell: func(n api.Node) any { return OrDash(n.Version) }},
		{Name: "TERM", Wide: true, Cell: func(n api.Node) any { return n.Term }},
		{Name: "LEVEL", Wide: true, Cell: func(n api.Node) any { return orDash0(int64(n.FeatureLevel)) }},
	})
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
	List(w, workers, true, []Column[api.Worker]{
		{Name: "WORKER", Cell: func(k api.Worker) any { return k.ID }},
		{Name: "KIND", Cell: func(k api.Worker) any { return k.Kind }},
		{Name: "NODE", Cell: func(k api.Worker) any { return OrDash(k.Node) }},
		{Name: "SLOTS", Cell: func(k api.Worker) any { return orDash0(k.Slots) }},
		{Name: "RUNNING", Cell: func(k api.Worker) any { return k.Running }},
		{Name: "DRAINED", Cell: func(k api.Worker) any { return k.Drained }},
		{Name: "WALL", Cell: func(k api.Worker) any { return wallWord(k.Wall) }},
		{Name: "SESSION", Wide: true, Cell: func(k api.Worker) any { return orDash0(int64(k.Session)) }},
		{Name: "OOM-KILLS", Wide: true, Cell: func(k api.Worker) any {
			if k.Wall == nil {
				return "-"
			}
			return k.Wall.OOMKills
		}},
	})
}

// wallWord lists what is in force around a worker's guests, and with a minus what is not.
func wallWord(w *api.Wall) string {
	if w == nil {
		return "-"
	}
	return OrDash(strings.Join(wall.State(*w).Words(), ","))
}

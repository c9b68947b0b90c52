package atrest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/raftstore/refound"
)

// Survivor is what a node's directory has.
type Survivor struct {
	Node    string   `json:"node"`
	Cluster string   `json:"cluster"` // the cluster's ID
	Others  []string `json:"others"`  // IDs of the other members that voted

	Index     uint64    `json:"index"` // of the last entry
	Term      uint64    `json:"term"`
	WrittenAt time.Time `json:"written_at"` // by the clock of whoever led

	Tasks        Tasks `json:"tasks"`
	Behaviors    int64 `json:"behaviors"`
	Operations   int64 `json:"operations"`
	StoreRecords int64 `json:"store_records"`
	Blobs        Blobs `json:"blobs"`

	Founded string `json:"founded,omitempty"` // ID of the cluster that was founded
}

// Tasks counts tasks by status.
type Tasks struct {
	Created   int64 `json:"created"`
	Running   int64 `json:"running"` // on workers of the former cluster: they become lost runs
	Retrying  int64 `json:"retrying"`
	Repeating int64 `json:"repeating"`
	Success   int64 `json:"success"`
	Failure   int64 `json:"failure"`
}

// Blobs counts the blobs that the state needs.
type Blobs struct {
	Count        int64    `json:"count"`
	Missing      int64    `json:"missing"` // not on this node's disk
	MissingBytes int64    `json:"missing_bytes"`
	Some         []string `json:"some_missing"` // digests of up to 10 of them
}

const someMissing = 10

// node is the directory of a stopped node, open.
type node struct {
	survivor *Survivor
	dir      *refound.Dir
	state    *refound.State
}

// open reads what the directory of a stopped node has. dir is --dir of its server.
func open(dir string) (*node, error) {
	d, err := refound.Open(filepath.Join(dir, "raft"))
	if err != nil {
		return nil, err
	}
	s, err := d.Look()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	n := &node{dir: d, state: s}
	if n.survivor, err = look(dir, s); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return n, nil
}

// Close lets go of the directory.
func (n *node) Close() error { return n.dir.Close() }

// found turns the directory into that of the only node of a new cluster. cluster must be the former one's ID. approve names nodes that vote when they
// join with empty directories.
func (n *node) found(cluster string, approve []string) error {
	if cluster != n.survivor.Cluster {
		return fmt.Errorf("the node belongs to cluster %s, not to %s: nothing was changed", n.survivor.Cluster, cluster)
	}
	p := refound.Plan{Node: n.survivor.Node, Cluster: refound.NewID(), Approve: approve, Command: "taskrt cluster recover"}
	if err := n.dir.Found(n.state, p); err != nil {
		return err
	}
	n.survivor.Founded = p.Cluster
	return nil
}

func look(dir string, s *refound.State) (*Survivor, error) {
	m := s.Machine
	c := m.Counts()
	out := &Survivor{
		Node: s.Node, Cluster: s.Cluster, Others: []string{}, Index: s.Index, Term: s.Term, WrittenAt: time.UnixMilli(int64(m.Now())).UTC(),
		Tasks:     Tasks{c.Created, c.Running, c.Retrying, c.Repeating, c.Success, c.Failure},
		Behaviors: c.Behaviors, StoreRecords: c.Records, Blobs: Blobs{Some: []string{}},
	}
	for _, n := range m.Namespaces() {
		out.Operations += n.Usage.Operations
	}
	for _, srv := range s.Members {
		if srv.Suffrage == raft.Voter && string(srv.ID) != s.Node {
			out.Others = append(out.Others, string(srv.ID))
		}
	}
	for b := range m.Blobs("") {
		if !b.Ready || b.Refs == 0 {
			continue
		}
		out.Blobs.Count++
		has, err := blob.Has(filepath.Join(dir, "blobs"), b.Digest, b.Size)
		if err != nil {
			return nil, err
		}
		if !has {
			out.Blobs.Missing++
			out.Blobs.MissingBytes += b.Size
			if len(out.Blobs.Some) < someMissing {
				out.Blobs.Some = append(out.Blobs.Some, b.Digest)
			}
		}
	}
	return out, nil
}

// show shows what a survivor has, what may be lost, and how to go on.
func (s *Survivor) show(w *terminal.Table, dir string) {
	w.Field("node", s.Node)
	w.Field("cluster", s.Cluster)
	w.Field("last entry", fmt.Sprintf("%d of term %d, written at %s", s.Index, s.Term, s.WrittenAt.Format(time.RFC3339)))
	t := s.Tasks
	w.Field("tasks", fmt.Sprintf("%d created, %d running, %d retrying, %d repeating, %d succeeded, %d failed", t.Created, t.Running, t.Retrying, t.Repeating, t.Success, t.Failure))
	w.Field("behaviors", s.Behaviors)
	w.Field("operations", s.Operations)
	w.Field("store records", s.StoreRecords)
	w.Field("blobs", s.Blobs.line())
	if s.Founded != "" {
		w.Printf("\nThis directory is now the first node of cluster %s. Start its server as before. Start the others with empty\n"+
			"directories: each votes after `taskrt cluster approve NODE`. Workers of the former cluster are halted.\n", s.Founded)
		return
	}
	w.Printf("\nMay be lost: whatever %s acknowledged after entry %d. A blob that is missing is lost unless another disk has it.\n", s.others(), s.Index)
	w.Printf("Runs that go on become lost runs, and their tasks run again.\n")
	if len(s.Others) > 0 {
		w.Printf("If a majority of the former cluster comes back, it lives on as another cluster, and does its work again: see to it that %s\nstay away.\n", s.others())
	}
	w.Printf("\nNothing was changed. This makes a new cluster of what is here:\n\n  taskrt cluster recover --dir %s --cluster %s\n", dir, s.Cluster)
}

// others names the other members.
func (s *Survivor) others() string {
	switch n := len(s.Others); n {
	case 0:
		return "this node itself"
	case 1:
		return s.Others[0]
	default:
		return strings.Join(s.Others[:n-1], ", ") + " and " + s.Others[n-1]
	}
}

func (b *Blobs) line() string {
	if b.Missing == 0 {
		return fmt.Sprintf("%d, all of them here", b.Count)
	}
	more := ""
	if b.Missing > int64(len(b.Some)) {
		more = ", …"
	}
	return fmt.Sprintf("%d, of which %d are missing here, with %d bytes: %s%s", b.Count, b.Missing, b.MissingBytes, strings.Join(b.Some, ", "), more)
}

package node

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/task"
)

// hungWrite is how long a write to the log's disk may take before the node is not alive. The node ends itself after such a time. If even this hangs,
// the supervisor of the process helps.
const hungWrite = 15 * time.Second

// Alive returns nil as long as this node can do its work: its state answers, and so do the log's disk and the folder of blobs. It does not ask
// whether anybody leads, whether the node has caught up, or whether a disk is full: starting a process again helps against none of these (SPEC C6). If the
// state hangs, Alive does not return.
func (n *Node) Alive(ctx context.Context) error {
	if err := n.failed(); err != nil {
		return err
	}
	n.store.Local(func(*task.Machine) {}) // waits for whatever holds the state
	if took := n.store.Status().Disk.Pending; took >= hungWrite {
		return fmt.Errorf("node: a write to the log's disk has taken %v so far", took.Round(time.Second))
	}
	if err := n.files.Ready(ctx); err != nil && ctx.Err() != nil { // other errors are answers
		return fmt.Errorf("node: the disk of the blobs does not answer: %w", err)
	}
	return nil
}

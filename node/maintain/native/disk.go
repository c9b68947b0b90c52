package native

import (
	"fmt"
	"time"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// foreignFile is the kind of a file that lies among a node's files and that the node has not made. It is counted, and
// stays.
const foreignFile = "unknown"

// maxFiles bounds a page of files.
const maxFiles = 10_000

// Disk is what one member keeps on its disk, as a run sees it.
type Disk struct {
	Blobs interface {
		Page(after string, limit int) ([]blob.Entry, error)
	}
	Logs interface {
		Page(after string, limit int) ([]logs.Entry, error)
		DropBefore(names []string, t time.Time) (int64, error)
	}
	Local func(func(*task.Machine)) // this member's state
}

// Files lists what the member keeps.
func (d Disk) Files(what maintain.Area, after string, limit int) ([]maintain.File, error) {
	limit = min(max(limit, 0), maxFiles)
	fs := []maintain.File{}
	add := func(name string, modified time.Time, foreign bool) {
		f := maintain.File{Name: name, Modified: task.Time(max(modified.UnixMilli(), 1))}
		if foreign {
			f.Kind = foreignFile
		}
		fs = append(fs, f)
	}
	switch what {
	case maintain.BlobFiles:
		page, err := d.Blobs.Page(after, limit)
		for _, e := range page {
			add(e.Digest, e.Modified, e.Foreign)
		}
		return fs, err
	case maintain.LogFiles:
		page, err := d.Logs.Page(after, limit)
		for _, e := range page {
			add(e.Name, e.Modified, e.Foreign)
		}
		return fs, err
	}
	return nil, fmt.Errorf("maintain: no area %.40s", what)
}

// DropLogs deletes logs if token belongs to the run under way.
func (d Disk) DropLogs(token uint64, before task.Time, names []string) (int64, error) {
	alive := false
	d.Local(func(m *task.Machine) {
		t := m.Task(task.MaintenanceKey())
		alive = t != nil && t.Lease != nil && t.Lease.Token == token
	})
	if !alive {
		return 0, maintain.ErrHalt
	}
	return d.Logs.DropBefore(names, time.UnixMilli(int64(before)))
}

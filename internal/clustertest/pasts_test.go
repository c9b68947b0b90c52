package clustertest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore/home"
)

// pasts are the faults in which a node comes back as its own past (SPEC C7). Copies of files are always found out. What a disk that is copied
// block by block can do is raftstore's TestRandomPasts.

// copyOf copies the directory of a member, which may run. What vanishes meanwhile is left out.
func (r *runner) copyOf(m *Member) (dir string) {
	dir, err := os.MkdirTemp(r.c.dir, m.ID+".copy-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(filepath.Join(r.c.dir, m.ID)))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.errorf("copy %s: %v", m.ID, err)
	}
	return dir
}

// refusesCopy demands that a node does not start on a copy.
func (r *runner) refusesCopy(c node.Config) {
	c.Raft.AsNewDisk = false // it may be on for a restore of the same node
	n, err := node.New(c)
	if err == nil {
		_ = n.Close()
	}
	if !errors.Is(err, home.ErrCopied) {
		r.errorf("%s starts on a copy: %v", c.ID, err)
	}
}

// copyBeside starts a copy of a node's directory beside the node, at another address.
func (r *runner) copyBeside(who string) {
	m := r.member(who)
	if m == nil {
		return
	}
	c := m.config(&boot{})
	c.Dir, c.Addr = r.copyOf(m), m.ID+"-copy"
	c.Net = r.c.Net.Node(c.Addr)
	r.note("a copy of %s is started beside it", m.ID)
	r.refusesCopy(c)
	r.remove(c.Dir)
}

// restore copies a node's directory, and puts the copy in the place of the directory after d. The node does not start. It starts when its
// directory is put back, or when it is told to start with an empty one. Of two disks at a time only one is lost.
func (r *runner) restore(who string, d time.Duration, asNewDisk bool) {
	m := r.member(who)
	if m == nil || asNewDisk && !r.disk.TryLock() {
		return
	}
	older := r.copyOf(m)
	time.Sleep(d)
	r.down(m.ID, "kill and restore an older copy of", 0, func(i int) {
		r.c.Kill(i)
		r.c.awaitGone(i)
		dir := filepath.Join(r.c.dir, m.ID)
		r.rename(dir, dir+".now")
		r.rename(older, dir)
		r.c.Net.Rejoin(m.Addr)
		r.refusesCopy(m.config(&boot{}))
		if !asNewDisk {
			r.remove(dir)
			r.rename(dir+".now", dir)
			return
		}
		r.note("%s starts with an empty disk", m.ID)
		r.remove(dir + ".now")
		m.asNewDisk(true)
	}, nil)
	r.remove(older) // if the node was down already
	if !asNewDisk {
		return
	}
	defer r.disk.Unlock()
	for range 3000 { // as long as there is no majority the node cannot get its data
		if n := m.up(); n != nil && n.Store().Status().Ready {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	m.asNewDisk(false)
	r.remove(filepath.Join(r.c.dir, m.ID, "raft.former"))
}

func (r *runner) member(who string) *Member {
	name := r.name(who)
	if p := r.procs[name]; p == nil || p.worker != nil {
		return nil
	}
	return r.c.Members[r.c.Index(name)]
}

func (r *runner) rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		r.errorf("%v", err)
	}
}

func (r *runner) remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		r.errorf("%v", err)
	}
}

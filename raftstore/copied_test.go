package raftstore

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/task"
)

// backup copies the directory of a member, which may run.
func (c *cluster) backup(m *member) (dir string) { return c.backupTo(m, m.dir+".backup") }

func (c *cluster) backupTo(m *member, dir string) string {
	c.t.Helper()
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// restore puts a backup in the place of the directory of a member that does not run.
func (c *cluster) restore(m *member, backup string) {
	c.t.Helper()
	if err := os.RemoveAll(m.dir); err != nil {
		c.t.Fatal(err)
	}
	if err := os.CopyFS(m.dir, os.DirFS(backup)); err != nil {
		c.t.Fatal(err)
	}
}

// TestRestoredDirectory: a directory that was restored from a backup lacks what its node has acknowledged since, and does not start. As a new
// disk the node gets everything from the others, and votes again (SPEC C7).
func TestRestoredDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := settledThree(c)
		n3 := ms[2]
		c.propose(ms[0].store, submit("before", task.Join))
		c.agree()
		backup := c.backup(n3)
		c.propose(ms[0].store, submit("since", task.Join))
		c.agree()
		c.stop(n3)
		c.restore(n3, backup)
		if _, err := c.tryStart(n3, 3, "n1:1", "n2:1", "n3:1"); !errors.Is(err, home.ErrCopied) || !strings.Contains(err.Error(), "--as-new-disk") {
			t.Fatalf("a restored directory: %v", err)
		}
		n3.change = func(c *Config) { c.AsNewDisk = true }
		c.start(n3, 3, "n1:1", "n2:1", "n3:1")
		c.awaitVoters("n1", "n2", "n3")
		c.agree()
		if !c.has(n3.store, "since") {
			t.Error("what was acknowledged is lost")
		}
		former := instanceIn(n3)
		c.stop(n3)
		c.start(n3, 3, "n1:1", "n2:1", "n3:1") // the flag stays in the command line
		c.agree()
		if now := instanceIn(n3); now != former {
			t.Error("a directory of one's own was put aside")
		}
		if _, err := os.Stat(n3.dir + ".former/node.json"); err != nil {
			t.Errorf("what was put aside: %v", err)
		}
		c.stop(n3)
		c.restore(n3, backup)
		if _, err := c.tryStart(n3, 3, "n1:1"); err == nil || !strings.Contains(err.Error(), "remove it first") {
			t.Errorf("what was put aside would be lost: %v", err)
		}
	})
}

// TestMovedDirectory: a directory that was moved to another disk starts when its operator has said so. Renamed, it is the same one.
func TestMovedDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := some(c, 1, nil)[0]
		c.activate(m.store)
		c.propose(m.store, submit("one", task.Join))
		c.stop(m)
		if err := os.Rename(m.dir, m.dir+"-renamed"); err != nil {
			t.Fatal(err)
		}
		m.dir += "-renamed"
		c.start(m, 1)
		c.stop(m)
		if was, err := home.Moved(m.dir); was || err != nil {
			t.Errorf("renamed, it is a copy: %v %v", was, err)
		}
		c.restore(m, c.backup(m))
		if _, err := c.tryStart(m, 1); !errors.Is(err, home.ErrCopied) {
			t.Fatal(err)
		}
		if was, err := home.Moved(m.dir); !was || err != nil {
			t.Fatalf("%v %v", was, err)
		}
		c.start(m, 1)
		c.await("it leads", func() bool { return m.store.leadingTerm() != 0 })
		if !c.has(m.store, "one") {
			t.Error("what it had is lost")
		}
		if _, err := home.Moved(m.dir); err == nil {
			t.Error("a node runs in it")
		}
		if _, err := home.Moved(c.dir + "/nobody"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("nobody is there: %v", err)
		}
	})
}

// TestRefoundOfACopy: of a copy another cluster may be founded. The directory is that cluster's then.
func TestRefoundOfACopy(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := some(c, 1, nil)[0]
		c.activate(m.store)
		c.propose(m.store, submit("one", task.Join))
		c.stop(m)
		c.restore(m, c.backup(m))
		c.refound(m)
		c.start(m, 1)
		c.await("it leads", func() bool { return m.store.leadingTerm() != 0 })
		if !c.has(m.store, "one") {
			t.Error("what it had is lost")
		}
	})
}

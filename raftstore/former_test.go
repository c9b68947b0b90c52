package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// TestDirectoriesOfFormerVersions: a store of this build starts on each directory of the corpus, as the same cluster with the same state. The build
// that wrote the directory may come back for ten minutes. Then the level rises, one by one, and that build is refused (SPEC C9).
func TestDirectoriesOfFormerVersions(t *testing.T) {
	all, err := corpus.Versions()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	for _, v := range all {
		for _, d := range v.Directories {
			t.Run(d.String(), func(t *testing.T) {
				dir := t.TempDir()
				if err := d.Unpack(dir); err != nil {
					t.Fatal(err)
				}
				if _, err := home.Moved(filepath.Join(dir, corpus.RaftDir)); err != nil && !errors.Is(err, os.ErrNotExist) { // what was unpacked is a copy
					t.Fatal(err)
				}
				former := func(c *Config) { c.KnownLevel = v.Level() }
				bubbleFor(t, time.Hour, func(t *testing.T, c *cluster) { outlives(t, c, &d, filepath.Join(dir, corpus.RaftDir), former) })
			})
		}
	}
}

// outlives starts a directory by this build, by the former one, and by this one until the level has risen.
func outlives(t *testing.T, c *cluster, d *corpus.Directory, dir string, former func(*Config)) {
	c.logs = logstore.Kind(d.Store)
	m := c.add("n1", nil)
	m.dir = dir
	level := d.Level
	stays := func(minutes int) {
		t.Helper()
		for range minutes {
			<-time.After(time.Minute)
			if m.store.Level() != level {
				t.Fatalf("the level is %d, not %d", m.store.Level(), level)
			}
		}
	}
	c.start(m, 1)
	c.leader()
	if id := m.store.Cluster(); id != d.Cluster {
		t.Errorf("it is the cluster %s, not %s", id, d.Cluster)
	}
	if got, ok := m.store.ring.At(d.Index); !ok || fmt.Sprintf("%016x", got.Sum) != d.Digest {
		t.Errorf("after entry %d the digest is %016x (%v), not %s", d.Index, got.Sum, ok, d.Digest)
	}
	if st := m.store.Status(); st.Level != d.Level || st.Known != task.KnownLevel {
		t.Errorf("level %d of %d", st.Level, st.Known)
	}
	stays(8)
	c.stop(m)
	m.change = former
	c.start(m, 1)
	c.leader()
	c.propose(m.store, task.Tick{})
	stays(1)
	c.stop(m)
	m.change = nil
	c.start(m, 1)
	c.leader()
	for level < task.KnownLevel {
		stays(9) // from this start on, not from the first start of this build
		for end := time.Now().Add(3 * time.Minute); m.store.Level() == level; <-time.After(time.Second) {
			if time.Now().After(end) {
				t.Fatalf("the level does not rise above %d: %+v", level, m.store.Status())
			}
		}
		level++
	}
	c.await("node.json says the level", func() bool {
		var book struct{ Level uint64 }
		text, err := os.ReadFile(filepath.Join(dir, "node.json"))
		return err == nil && json.Unmarshal(text, &book) == nil && book.Level == task.KnownLevel
	})
	c.stop(m)
	behind := false
	m.change = func(c *Config) { former(c); behind = c.KnownLevel < task.KnownLevel }
	switch _, err := c.tryStart(m, 1); {
	case behind && (err == nil || !strings.Contains(err.Error(), "level")):
		t.Errorf("the former build starts on the directory: %v", err)
	case !behind && err != nil:
		t.Error(err)
	case !behind:
		c.stop(m)
	}
	m.change = nil
	c.start(m, 1)
	c.leader()
}

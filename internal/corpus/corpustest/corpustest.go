// Package corpustest reads what a version wrote, as every later version must be able to (SPEC C9).
package corpustest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// Check reads all that a version wrote, but for what takes a server. root is the directory of the repository.
func Check(t *testing.T, v *corpus.Version, root string) {
	t.Helper()
	checkParts(t, v)
	var met commands
	for _, d := range v.Directories {
		t.Run(d.Name, func(t *testing.T) {
			u := unpack(t, &d)
			snap := u.snapshot(t)
			u.checkLog(t, snap, &met)
			u.checkSnapshot(t, u.snapshot(t)) // the machine of the other one may have gone on
			if d.Recovered && snap.machine.Rev() > task.Leap {
				met.add(task.Refound{}) // nobody proposes it: it is in no log
			}
		})
	}
	text, err := os.ReadFile(filepath.Join(root, "task", "command.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range met.missing(t, v, string(text)) {
		t.Errorf("%s: no log has %s", v.Version, name)
	}
}

// checkParts demands that the version has all that a corpus has.
func checkParts(t *testing.T, v *corpus.Version) {
	t.Helper()
	has, highest := map[string]bool{}, v.Level()
	for _, d := range v.Directories {
		has[d.Name] = true
		if len(d.Exports) < 3 || len(d.Cluster) < 16 || d.Index < 100 || d.Saved() != (len(d.Backups) == 2) {
			t.Errorf("%s: %+v", &d, d)
		}
	}
	wants := []string{"bolt-level-1", "wal-level-1", fmt.Sprint("bolt-level-", highest), fmt.Sprint("wal-level-", highest)}
	if highest >= task.MembersLevel {
		wants = append(wants, wants[3]+"-recovered")
	}
	for _, name := range wants {
		if highest < 2 || !has[name] {
			t.Errorf("%s has %v, and not %s", v.Version, has, name)
		}
	}
}

// unpacked is a directory of a corpus on the disk, with its log open.
type unpacked struct {
	*corpus.Directory
	dir   string
	log   logstore.Store
	first uint64
}

func unpack(t *testing.T, d *corpus.Directory) *unpacked {
	t.Helper()
	u := &unpacked{Directory: d, dir: t.TempDir()}
	if err := d.Unpack(u.dir); err != nil {
		t.Fatal(err)
	}
	log, err := logstore.Open(filepath.Join(u.dir, corpus.RaftDir), logstore.Kind(d.Store), logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	u.log = log
	if u.first, err = log.FirstIndex(); err != nil || (u.first == 1) == d.Recovered {
		t.Fatalf("the log begins with entry %d, %v", u.first, err)
	}
	return u
}

// commands are the names of types that were met.
type commands map[string]bool

func (c *commands) add(one task.Command) {
	if *c == nil {
		*c = commands{}
	}
	(*c)[fmt.Sprintf("%T", one)] = true
}

// numbered are the commands in task/command.go with their numbers.
var numbered = regexp.MustCompile(`(?m)^\t_ Command = (\w+)\{\} +// (\d+)$`)

// missing names each command in the list that the version knows, and that was not met.
func (c commands) missing(t *testing.T, v *corpus.Version, list string) (names []string) {
	t.Helper()
	all := numbered.FindAllStringSubmatch(list, -1)
	if len(all) < 49 || v.Commands < 46 {
		t.Fatalf("%d commands are found, and %s says that it knows %d", len(all), v.Version, v.Commands)
	}
	for _, x := range all {
		if n, _ := strconv.Atoi(x[2]); n <= v.Commands && !c["task."+x[1]] {
			names = append(names, fmt.Sprintf("command %d, %s", n, x[1]))
		}
	}
	return names
}

package raftstore

import (
	"cmp"

	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/task"
)

// CheckDir returns why Open would refuse what lies in c.Dir: that it belongs to another node, that it is a copy (SPEC C7), that it is of another
// format or of a level that this build does not know, or that another process has it open (logstore.ErrInUse). It changes nothing. It reads neither
// entries nor snapshots, so Open may still refuse the directory.
func CheckDir(c Config) error {
	if err := members.Vet(c.Dir, members.Peer{ID: c.ID, Level: cmp.Or(c.KnownLevel, task.KnownLevel)}); err != nil {
		return err
	}
	if !c.AsNewDisk {
		if err := home.Check(c.Dir); err != nil {
			return err
		}
	}
	return logstore.Check(c.Dir, cmp.Or(c.LogStore, logstore.Bolt))
}

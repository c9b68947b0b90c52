package node

import "github.com/taskrt/taskrt/raftstore"

// CheckDir returns why New would refuse the directory of c, as raftstore.CheckDir does. It changes nothing.
func CheckDir(c Config) error { return raftstore.CheckDir(c.storeConfig(nil)) }

package logstore

import "testing"

// TestDurable: every write to the log is synced (SPEC T6), and the freelist is not written with it.
func TestDurable(t *testing.T) {
	o := boltOptions("raft.db")
	if o.NoSync || o.BoltOptions.NoSync || o.BoltOptions.NoGrowSync || !o.BoltOptions.NoFreelistSync {
		t.Fatalf("%+v %+v", o, o.BoltOptions)
	}
}

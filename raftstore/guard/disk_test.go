package guard

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/logstore"
)

// recordedDisk notes the range of every deletion, which is one transaction.
type recordedDisk struct {
	logstore.Store
	deleted [][2]uint64
}

func (d *recordedDisk) DeleteRange(a, b uint64) error {
	d.deleted = append(d.deleted, [2]uint64{a, b})
	return d.Store.DeleteRange(a, b)
}

// TestDeleteRange: transactions have a bounded size, and the log never has a hole between two of them.
func TestDeleteRange(t *testing.T) {
	for _, tc := range []struct {
		name        string
		first, last uint64
		want        [][2]uint64
	}{
		{"prefix", 1, 2500, [][2]uint64{{1, 1000}, {1001, 2000}, {2001, 2500}}},
		{"prefix from before the log", 0, 10, [][2]uint64{{1, 10}}},
		{"suffix", 501, 3000, [][2]uint64{{2001, 3000}, {1001, 2000}, {501, 1000}}},
		{"suffix beyond the log", 2990, 9000, [][2]uint64{{2990, 3000}}},
		{"all", 1, 3000, [][2]uint64{{2001, 3000}, {1001, 2000}, {1, 1000}}},
		{"nothing", 3001, 4000, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := &recordedDisk{}
			d, err := openDisk(&Config{
				Dir: t.TempDir(), DiskTimeout: time.Minute, Fail: func(err error) { t.Error(err) }, Logger: slog.New(slog.DiscardHandler),
				WrapDisk: func(d logstore.Store) logstore.Store { rec.Store = d; return rec },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			logs := make([]*raft.Log, 3000)
			for i := range logs {
				logs[i] = &raft.Log{Index: uint64(i + 1), Term: 1, Data: []byte("x")}
			}
			if err := d.StoreLogs(logs); err != nil {
				t.Fatal(err)
			}
			if err := d.DeleteRange(tc.first, tc.last); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rec.deleted, tc.want) {
				t.Fatalf("deleted %v, want %v", rec.deleted, tc.want)
			}
			if h := d.Health(); h.Writes != uint64(1+len(tc.want)) || h.Bytes != 3000 || h.Err != nil {
				t.Fatalf("%+v", h)
			}
		})
	}
}

// TestDiskHistogram: a bound counts all writes that took no longer, so it includes the counts of the bounds before it.
// A write that took longer than the last bound counts in none.
func TestDiskHistogram(t *testing.T) {
	var h DiskHealth
	for _, took := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, 40 * time.Millisecond, time.Minute} {
		h.count(took)
	}
	got := h.Histogram()
	for bound, want := range map[float64]uint64{0.00025: 1, 0.0005: 1, 0.001: 2, 0.0025: 3, 0.025: 3, 0.05: 4, 10: 4} {
		if got[bound] != want {
			t.Errorf("%v s: %d, want %d", bound, got[bound], want)
		}
	}
	if len(got) != len(diskBounds) || h.Writes != 5 || h.Took != time.Minute+42*time.Millisecond+1 {
		t.Errorf("%+v, %v", h, got)
	}
}

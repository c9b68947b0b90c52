package guard

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/logstore"
)

// takesTime is a disk whose writes take as long as the test says.
type takesTime struct {
	logstore.Store
	takes time.Duration
}

func (d *takesTime) StoreLogs(ls []*raft.Log) error {
	<-time.After(d.takes)
	return nil
}

// idler is a thread that has waited for a processor for a part of all time.
type idler struct {
	begun time.Time
	part  float64
	fails bool
}

func (w idler) Delay() (time.Duration, bool) {
	return time.Hour + time.Duration(w.part*float64(time.Since(w.begun))), !w.fails
}

// TestWatch: a write that takes the disk 2 s is slow, and one that takes it 10 s stops the node. What the scheduler took
// does not count, by the figures of the thread or by those of the process (SPEC C10).
func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		name   string
		takes  time.Duration
		late   float64 // the part of the time in which the process does not run
		waits  float64 // the part of the time in which the thread waits for a processor
		silent bool    // the kernel does not tell of threads
		slow   bool
		stops  time.Duration // after which the node stops; 0: it does not
	}{
		{name: "quick", takes: 1900 * time.Millisecond},
		{name: "slow", takes: 2 * time.Second, slow: true},
		{name: "as slow as may be", takes: 9900 * time.Millisecond, slow: true},
		{name: "stalled", takes: 15 * time.Second, slow: true, stops: 10 * time.Second},
		{name: "late", takes: 15 * time.Second, late: 0.9},
		{name: "late and slow", takes: 15 * time.Second, late: 0.5, slow: true},
		{name: "late and stalled", takes: time.Minute, late: 0.5, slow: true, stops: 20 * time.Second},
		{name: "waiting", takes: 15 * time.Second, waits: 0.95},
		{name: "waiting and stalled", takes: time.Minute, waits: 0.5, slow: true, stops: 19 * time.Second}, // what was before the first look counts
		{name: "both, which are the same time", takes: 15 * time.Second, late: 0.5, waits: 0.5, slow: true},
		{name: "of an unknown thread", takes: 15 * time.Second, waits: 0.95, silent: true, slow: true, stops: 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var mu sync.Mutex
				slow, stopped := 0, time.Duration(0)
				d, err := openDisk(&Config{
					Dir: dir, DiskSlow: 2 * time.Second, DiskTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
					Late: func() time.Duration { return time.Duration(tc.late * float64(time.Since(begun))) },
					Slow: func() {
						mu.Lock()
						defer mu.Unlock()
						slow++
					},
					Fail: func(err error) {
						mu.Lock()
						defer mu.Unlock()
						if stopped = time.Since(begun); !errors.Is(err, ErrDiskStalled) {
							t.Error(err)
						}
					},
					WrapDisk: func(s logstore.Store) logstore.Store { return &takesTime{s, tc.takes} },
				})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				d.thread = func() thread { return idler{begun, tc.waits, tc.silent} }
				if err := d.StoreLog(&raft.Log{Index: 1}); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if stopped.Round(time.Second) != tc.stops {
					t.Errorf("the node stops after %v, want %v", stopped, tc.stops)
				}
				if slow > 1 || (slow == 1) != tc.slow || d.Health().Slow != tc.slow {
					t.Errorf("told of a slow disk %d times; %+v", slow, d.Health())
				}
				<-time.After(slowFor)
				if d.Health().Slow {
					t.Error("slow for ever")
				}
			})
		})
	}
}

// TestSlowWhileItLasts: a disk that hangs is slow for as long as it hangs.
func TestSlowWhileItLasts(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d, err := openDisk(&Config{
			Dir: dir, DiskSlow: 2 * time.Second, DiskTimeout: time.Hour, Fail: func(err error) { t.Error(err) }, Logger: slog.New(slog.DiscardHandler),
			WrapDisk: func(s logstore.Store) logstore.Store { return &takesTime{s, 2 * time.Minute} },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.thread = func() thread { return idler{begun: time.Now()} }
		done := make(chan error)
		go func() { done <- d.StoreLog(&raft.Log{Index: 1}) }()
		<-time.After(1500 * time.Millisecond)
		if h := d.Health(); h.Slow || h.Pending != 1500*time.Millisecond {
			t.Errorf("%+v", h)
		}
		<-time.After(time.Minute)
		if h := d.Health(); !h.Slow || h.Pending != 61500*time.Millisecond {
			t.Errorf("%+v", h)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

package maintain

import (
	"fmt"
	"time"

	"github.com/taskrt/taskrt/task"
)

// Config configures the runs of a cluster. Zero values mean the defaults.
type Config struct {
	// Every is how long after a run the next one begins; default 1 h, below 0: only on demand (SPEC M1).
	Every time.Duration
	// Grace is how old a blob, a file or a log must be before it may be deleted; default 3 h, at least MinGrace (SPEC
	// M3). It only saves work: an upload under way is protected by its record, whatever the clocks say.
	Grace time.Duration
	// ScanRate is how many objects a run looks at per second; default 50,000 (SPEC M4).
	ScanRate int64
	// DeleteRate is how many objects a run deletes per second; default 2,000. Live commands wait behind its batches.
	DeleteRate int64
	// Batch is how many objects one command deletes at most; default 200, at most task.MaxDrop.
	Batch int64
	// MinItems is how many marks the smallest filter is made for; default 1,000,000, which takes 3 MB.
	MinItems int64
	// Candidates bounds how many objects to delete a run remembers; default 500,000. Further ones are left to a run that
	// follows at once.
	Candidates int
	// TrimWait is how long a run that removes a behavior waits for Ticks to remove the tasks of the behavior's operations;
	// default 5 s. Tasks that run are left to a later run.
	TrimWait time.Duration
	// PurgeWait is how long a run waits for the running tasks of namespaces in PURGING to be cancelled; default 30 s.
	// Tasks that run on are left to a run that follows after PurgeAgain; default 1 min.
	PurgeWait, PurgeAgain time.Duration
	// Forget is how long a PURGED namespace is remembered; default 30 days.
	Forget time.Duration
	// UnsafeGrace lets Grace be below MinGrace, for tests.
	UnsafeGrace bool
}

// MinGrace is the least Config.Grace outside of tests (SPEC M3).
const MinGrace = 5 * time.Minute

// The defaults of Config that others show.
const (
	DefaultEvery      = time.Hour
	DefaultGrace      = 3 * time.Hour
	DefaultScanRate   = 50_000
	DefaultDeleteRate = 2_000
	DefaultBatch      = 200
)

// MinEvery is the least Config.Every: a run takes a slot of a worker and writes to the log.
const MinEvery = time.Second

// WithDefaults fills in the fields that are zero.
func (c Config) WithDefaults() Config {
	def(&c.Every, DefaultEvery)
	def(&c.Grace, DefaultGrace)
	def(&c.ScanRate, DefaultScanRate)
	def(&c.DeleteRate, DefaultDeleteRate)
	def(&c.Batch, DefaultBatch)
	def(&c.MinItems, 1_000_000)
	def(&c.Candidates, 500_000)
	def(&c.TrimWait, 5*time.Second)
	def(&c.PurgeWait, 30*time.Second)
	def(&c.PurgeAgain, time.Minute)
	def(&c.Forget, 30*24*time.Hour)
	return c
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.Every > 0 && c.Every < MinEvery:
		return fmt.Errorf("maintain: Every %v is below %v", c.Every, MinEvery)
	case c.Grace < MinGrace && !c.UnsafeGrace:
		return fmt.Errorf("maintain: Grace %v is below %v", c.Grace, MinGrace)
	case c.Grace < 0 || c.TrimWait < 0 || c.PurgeWait < 0 || c.PurgeAgain < 0 || c.Forget < 0:
		return fmt.Errorf("maintain: Grace, TrimWait, PurgeWait, PurgeAgain and Forget must not be negative")
	case c.ScanRate < 1 || c.DeleteRate < 1 || c.MinItems < 1 || c.Candidates < 1:
		return fmt.Errorf("maintain: ScanRate, DeleteRate, MinItems and Candidates must be positive")
	case c.Batch < 1 || c.Batch > task.MaxDrop:
		return fmt.Errorf("maintain: Batch is %d, not 1 to %d", c.Batch, task.MaxDrop)
	}
	return nil
}

package compiler

import (
	"time"

	"github.com/taskrt/taskrt/runtime/upload"
)

// Kinds of messages.
const (
	msgJob    = 'J' // to the process: job, with the module as a file
	msgWall   = 'w' // to the server: wall.State, before the process reads the module
	msgLinear = 'l' // linear memory of guests in bytes, which is not the compiler's
	msgResult = 'r' // result
)

// maxMessage bounds what the process says, and a job: a manifest has 1 MiB at most.
const maxMessage = 8 << 20

// job is the work of one process.
type job struct {
	Inspect  bool   // else only compile
	Manifest []byte // given at upload: canonical; nil: none
	Name     string

	CacheDir       string
	CacheBytes     int64
	MaxModuleBytes int64
	CPU            time.Duration
	Memory         int64 // bytes, besides guests' linear memory
}

// result is the outcome of a job.
type result struct {
	Manifest []byte        // canonical
	Refused  *upload.Error // what is wrong with the module
	Failed   string        // what else went wrong
	Compiled []compiled
	Cache    int64 // bytes in it
}

// compiled is a runtime.Compiled on its way to the parent.
type compiled struct {
	Digest string
	Took   time.Duration
	Cached bool
	Failed bool
}

package guests

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/taskrt/taskrt/worker"
)

// RunLog writes down where and when guest code executes. With these lines one can check the promise of SPEC L1 over all processes of a machine, by
// the stamps of the processes that run the guests.
type RunLog struct {
	mu   sync.Mutex
	file *os.File
	log  *slog.Logger
}

// runLine is one line of the file.
type runLine struct {
	Namespace string `json:"namespace,omitempty"`
	Task      string `json:"task,omitempty"`
	Attempt   int64  `json:"attempt,omitempty"`
	Token     uint64 `json:"token"`
	Begin     int64  `json:"begin_ns,omitempty"` // absent, like all above but the token, if the process died before it could say the end
	End       int64  `json:"end_ns,omitempty"`   // absent in the line about the begin
	PID       int    `json:"pid"`                // of the process in which it executes
}

// OpenRunLog opens the file of --run-log. Without a name it returns nil, which logs nothing.
func OpenRunLog(name string, log *slog.Logger) (*RunLog, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--run-log: %w", err)
	}
	return &RunLog{file: f, log: log}, nil
}

// Hook is the worker's OnRun.
func (l *RunLog) Hook() func(worker.Run) {
	if l == nil {
		return nil
	}
	return func(r worker.Run) {
		l.write(runLine{
			Namespace: r.Key.Namespace, Task: r.Key.ID, Attempt: r.Attempt, Token: r.Token, Begin: r.Started, End: r.Ended, PID: os.Getpid(),
		})
	}
}

// died writes down that what a process executed has ended, because the process is gone since boot time at.
func (l *RunLog) died(pid int, tokens []uint64, at time.Duration) {
	if l == nil {
		return
	}
	for _, token := range tokens {
		l.write(runLine{Token: token, End: int64(at), PID: pid})
	}
}

func (l *RunLog) write(r runLine) {
	line, err := json.Marshal(r)
	if err == nil {
		l.mu.Lock()
		_, err = l.file.Write(append(line, '\n'))
		l.mu.Unlock()
	}
	if err != nil {
		l.log.Error("cannot write the run log", "err", err)
	}
}

// Close closes the file.
func (l *RunLog) Close() {
	if l != nil {
		l.file.Close()
	}
}

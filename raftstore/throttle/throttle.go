// Package throttle writes snapshots at a rate that leaves the disk to the log.
package throttle

import (
	"errors"
	"io"
	"time"
)

// Rate limits the rate at which snapshots are written. Without a limit a snapshot of 122 MB pushed the latency of proposals from 2 to 80 ms
// (docs/architecture.md#snapshots). While the store closes there is nothing to protect, so there is no limit.
type Rate struct {
	PerSecond int64           // bytes
	Hurry     <-chan struct{} // if closed: write as fast as the disk can
	Abort     <-chan struct{} // if closed: give up
}

// Writer writes one snapshot.
type Writer struct {
	N int64 // bytes so far

	rate  Rate
	w     io.Writer
	begun time.Time
}

// Limit returns a Writer of what w takes.
func (r Rate) Limit(w io.Writer) *Writer { return &Writer{rate: r, w: w, begun: time.Now()} }

// ErrAborted is the error of a Writer whose Rate says Abort.
var ErrAborted = errors.New("raftstore: snapshot given up")

// Write implements io.Writer.
func (l *Writer) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	l.N += int64(n)
	if err != nil {
		return n, err
	}
	select {
	case <-l.rate.Abort:
		return n, ErrAborted
	case <-l.rate.Hurry:
		return n, nil
	default:
	}
	due := l.begun.Add(time.Duration(float64(l.N) / float64(l.rate.PerSecond) * float64(time.Second)))
	if d := time.Until(due); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.rate.Hurry:
		case <-l.rate.Abort:
		}
	}
	return n, nil
}

package worker

import (
	"bytes"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/worker/stream"
)

const (
	// logEvery is how often the log of a running attempt is sent.
	logEvery = time.Second
	// logChunk bounds one Log in bytes.
	logChunk = 32 << 10
	// logDropped is the last line of a log that reached its limit.
	logDropped = "… the log reached its limit; what follows is dropped\n"
)

// logBuffer holds what an attempt logged and the worker has not sent. Guarded by run.mu.
type logBuffer struct {
	limit int64 // bytes of the whole attempt, prefixes included
	used  int64
	taken int64 // bytes that take has removed: the offset of the next chunk
	full  bool
	buf   []byte
}

// add appends "2026-11-22T10:00:00.000Z INFO message", one line per line of msg.
func (l *logBuffer) add(now time.Time, level int, msg []byte) {
	for line := range bytes.Lines(msg) {
		if l.full {
			return
		}
		at := len(l.buf)
		l.buf = now.UTC().AppendFormat(l.buf, "2006-01-02T15:04:05.000Z ")
		l.buf = append(l.buf, levelName(level)...)
		l.buf = append(l.buf, ' ')
		l.buf = append(l.buf, bytes.TrimRight(line, "\r\n")...)
		l.buf = append(l.buf, '\n')
		if l.used += int64(len(l.buf) - at); l.limit > 0 && l.used > l.limit {
			l.full = true
			l.buf = append(l.buf[:at], logDropped...)
		}
	}
}

func levelName(level int) string {
	switch {
	case level <= abi.LogTrace:
		return "TRACE"
	case level == abi.LogDebug:
		return "DEBUG"
	case level == abi.LogInfo:
		return "INFO"
	case level == abi.LogWarn:
		return "WARN"
	default:
		return "ERROR"
	}
}

// take removes the next chunk of whole lines. It has at most logChunk bytes, and of a longer line only a part. offset is how many bytes were taken
// before it.
func (l *logBuffer) take() (chunk []byte, offset int64) {
	n := len(l.buf)
	if n > logChunk {
		if n = bytes.LastIndexByte(l.buf[:logChunk], '\n') + 1; n == 0 {
			n = logChunk
		}
	}
	chunk, offset = l.buf[:n:n], l.taken
	if l.buf = l.buf[n:]; len(l.buf) == 0 {
		l.buf = nil // an idle attempt keeps no memory
	}
	l.taken += int64(n)
	return chunk, offset
}

// takeLog returns the lines that wait, in chunks.
func (r *run) takeLog() []stream.Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	var logs []stream.Log
	for len(r.log.buf) > 0 {
		data, offset := r.log.take()
		logs = append(logs, stream.Log{Key: r.key, Token: r.token, Attempt: r.a.Task.Attempt, Data: data, Offset: offset})
	}
	return logs
}

// queueLogs queues what running attempts have logged.
func (s *session) queueLogs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range s.heldLocked() {
		s.logs = append(s.logs, s.runs[token].takeLog()...)
	}
}

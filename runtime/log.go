package runtime

import (
	"bytes"
	"fmt"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/grants"
)

// attemptLog bounds what one attempt logs: messages, standard output and standard error together. Every message
// counts one byte more than its length, so that empty messages are bounded, too.
type attemptLog struct {
	host        Host
	limit, left int64
	full        bool
	hidden      []secret
}

// write takes one message. It keeps no reference to msg.
func (l *attemptLog) write(level int, msg []byte) {
	if l.full {
		return
	}
	// Text beyond the limit is not told, so it is not searched for secrets. A secret that is cut there is not told,
	// either.
	most := l.left + grants.MaxSecret
	whole := int64(len(msg)) <= most
	msg = l.hide(msg[:min(int64(len(msg)), most)])
	if !whole {
		msg = msg[:max(0, len(msg)-grants.MaxSecret)]
	}
	if whole && int64(len(msg))+1 <= l.left {
		l.left -= int64(len(msg)) + 1
		l.host.Log(level, bytes.Clone(msg))
		return
	}
	l.full = true
	if l.left > 1 {
		l.host.Log(level, bytes.Clone(msg[:min(int64(len(msg)), l.left-1)]))
	}
	l.host.Log(abi.LogWarn, fmt.Appendf(nil, "… log limit of %d bytes reached, the rest is dropped", l.limit))
}

// maxLine is where a line without end is cut into messages.
const maxLine = 4 << 10

// lineWriter makes log messages of the lines of standard output or standard error, and keeps the last bytes.
type lineWriter struct {
	log   *attemptLog
	level int
	line  []byte // not yet ended
	keep  int
	tail  []byte
}

func (w *lineWriter) write(p []byte) {
	p = w.log.hide(p)
	w.remember(p)
	for len(p) > 0 && !w.log.full {
		room := maxLine - len(w.line)
		if room <= 0 { // the whole line may be the beginning of a secret
			room = maxLine
		}
		i, held := bytes.IndexByte(p[:min(len(p), room)], '\n'), 0
		switch {
		case i >= 0:
			w.line = append(w.line, p[:i]...)
			p = p[i+1:]
		case len(p) < room:
			w.line = append(w.line, p...)
			return
		default:
			w.line = append(w.line, p[:room]...)
			p = p[room:]
			if held = w.log.begun(w.line); held == len(w.line) {
				continue
			}
		}
		cut := len(w.line) - held
		w.log.write(w.level, w.line[:cut])
		w.line = append(w.line[:0], w.line[cut:]...)
	}
}

func (w *lineWriter) remember(p []byte) {
	if w.keep == 0 {
		return
	}
	if len(p) >= w.keep {
		w.tail = append(w.tail[:0], p[len(p)-w.keep:]...)
		return
	}
	w.tail = append(w.tail, p...)
	if len(w.tail) > 2*w.keep {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-w.keep:]...)
	}
}

// last returns the last bytes written, at most keep.
func (w *lineWriter) last() []byte {
	tail := w.log.hide(w.tail) // a secret may have come in two writes
	return tail[max(0, len(tail)-w.keep):]
}

// flush logs a last line without end.
func (w *lineWriter) flush() {
	if len(w.line) > 0 {
		w.log.write(w.level, w.line)
		w.line = w.line[:0]
	}
}

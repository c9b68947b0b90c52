package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/arriving"
)

// A frame is
//
//	length u32 (of what follows) | request id u64 | kind u8 | body
//
// all big-endian. A client numbers its requests. The answer carries the same id, and a status in the place of the kind.
// The first frame of a connection is the client's greeting (kindGreet), which is not answered.
const (
	frameHead = 4 + 8 + 1
	maxFrame  = 64 << 20
	// pieceOnTrust is the most that a header of a frame alone makes this process allocate. A shorter body costs one allocation.
	pieceOnTrust = 512 << 10
)

var errFrameSize = errors.New("raftstore: frame of invalid size")

type frame struct {
	id   uint64
	kind byte
	body []byte
}

func readFrame(r *bufio.Reader) (frame, error) {
	var h [frameHead]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(h[:4])
	if n < frameHead-4 || n > maxFrame {
		return frame{}, fmt.Errorf("%w: %d", errFrameSize, n)
	}
	body, err := arriving.Append(r, nil, int(n-(frameHead-4)), pieceOnTrust)
	return frame{id: binary.BigEndian.Uint64(h[4:12]), kind: h[12], body: body}, err
}

// frameWriter writes frames to a connection. It never makes the caller wait for the peer. One goroutine writes the
// queued frames, and flushes when the queue is empty. The senders bound the queue: a request waits for its answer, an
// answer for its request.
type frameWriter struct {
	conn    net.Conn
	timeout time.Duration

	mu     sync.Mutex
	queue  []frame
	closed bool
	queued chan struct{} // capacity 1: queue may have frames; closed by close
}

func newFrameWriter(c net.Conn, timeout time.Duration) *frameWriter {
	return &frameWriter{conn: c, timeout: timeout, queued: make(chan struct{}, 1)}
}

// put queues f. It returns false if the writer is closed.
func (w *frameWriter) put(f frame) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, f)
	select {
	case w.queued <- struct{}{}:
	default:
	}
	return true
}

// close ends run and closes the connection.
func (w *frameWriter) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queued)
	}
	w.mu.Unlock()
	w.conn.Close()
}

func (w *frameWriter) run() {
	defer w.close()
	buf := bufio.NewWriterSize(w.conn, 64<<10)
	for range w.queued {
		for {
			w.mu.Lock()
			queue := w.queue
			w.queue = nil
			w.mu.Unlock()
			if len(queue) == 0 {
				break
			}
			_ = w.conn.SetWriteDeadline(time.Now().Add(w.timeout))
			for _, f := range queue {
				var h [frameHead]byte
				binary.BigEndian.PutUint32(h[:4], uint32(len(f.body)+frameHead-4))
				binary.BigEndian.PutUint64(h[4:12], f.id)
				h[12] = f.kind
				if _, err := buf.Write(h[:]); err != nil {
					return
				}
				if _, err := buf.Write(f.body); err != nil {
					return
				}
			}
		}
		if buf.Flush() != nil {
			return
		}
	}
}

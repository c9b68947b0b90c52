package accept

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// maxFrame bounds one frame, in bytes. A thousand grants with the longest IDs take a fifth of it.
const maxFrame = 1 << 20

// pulse is how often each side says something. A side that says nothing for as long as silence is taken for gone.
const (
	pulse   = time.Second
	silence = 5 * time.Second
)

// link carries JSON frames over a connection, each as its length and its text. Sending never blocks: the queue is
// bounded by what the other side has asked for.
type link struct {
	conn net.Conn
	in   *bufio.Reader

	mu   sync.Mutex
	out  []any
	wake chan struct{}
}

func newLink(c net.Conn) *link {
	return &link{conn: c, in: bufio.NewReader(c), wake: make(chan struct{}, 1)}
}

// send queues a frame.
func (l *link) send(frame any) {
	l.mu.Lock()
	l.out = append(l.out, frame)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write writes what is queued, and an empty frame after each pulse without one, until done closes or the connection
// ends.
func (l *link) write(done <-chan struct{}) error {
	w := bufio.NewWriter(l.conn)
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		idle := false
		select {
		case <-l.wake:
		case <-beat.C:
			idle = true
		case <-done:
			return nil
		}
		l.mu.Lock()
		frames := l.out
		l.out = nil
		l.mu.Unlock()
		if idle && len(frames) == 0 {
			frames = []any{struct{}{}}
		}
		_ = l.conn.SetWriteDeadline(time.Now().Add(silence))
		for _, f := range frames {
			if err := writeFrame(w, f); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

func writeFrame(w io.Writer, frame any) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	if len(b) > maxFrame {
		return fmt.Errorf("accept: frame of %d bytes, at most %d", len(b), maxFrame)
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(b)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// read reads the next frame into what frame points to.
func (l *link) read(frame any) error {
	_ = l.conn.SetReadDeadline(time.Now().Add(silence))
	var size [4]byte
	if _, err := io.ReadFull(l.in, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return fmt.Errorf("accept: frame of %d bytes, at most %d", n, maxFrame)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(l.in, b); err != nil {
		return err
	}
	return json.Unmarshal(b, frame)
}

package stream

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
)

const writeTimeout = 30 * time.Second // a client that takes nothing for so long is cut off

// text is Server-Sent Events. It has no way to tell the client why they end; the client goes on elsewhere.
type text struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	buf  bytes.Buffer
}

func (t *text) add(e api.Event, id *uint64) {
	b := &t.buf
	b.WriteString("event: ")
	b.WriteString(e.Kind)
	t.id(id)
	b.WriteString("\ndata: ")
	b.Write(bytes.ReplaceAll(e.Data, []byte("\n"), []byte("\ndata: ")))
	b.WriteString("\n\n")
}

func (t *text) id(id *uint64) {
	if id != nil {
		t.buf.WriteString("\nid: ")
		t.buf.WriteString(strconv.FormatUint(*id, 10))
	}
}

// beat is a comment.
func (t *text) beat(id *uint64) {
	t.buf.WriteByte(':')
	t.id(id)
	t.buf.WriteString("\n\n")
}

func (t *text) size() int { return t.buf.Len() }

func (t *text) flush() error {
	_ = t.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := t.w.Write(t.buf.Bytes())
	t.buf.Reset()
	if t.buf.Cap() > 4*chunk {
		t.buf = bytes.Buffer{} // after one large event the buffer must not stay large
	}
	if err != nil {
		return err
	}
	return t.conn.Flush()
}

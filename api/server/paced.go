package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// pacedBody is a body of any length. It limits the time for each piece of the body.
type pacedBody struct {
	r        io.Reader
	conn     *http.ResponseController
	patience time.Duration
	until    time.Time // by when the whole body must have come; zero: at any time
	err      error     // why the body could not be read
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	deadline := time.Now().Add(b.patience)
	if !b.until.IsZero() && b.until.Before(deadline) {
		deadline = b.until
	}
	_ = b.conn.SetReadDeadline(deadline)
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// pacedWriter writes an answer of any length. It limits the time for each piece: a client that takes nothing for writeTimeout
// is cut off.
type pacedWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// Write implements io.Writer.
func (w *pacedWriter) Write(p []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.ResponseWriter.Write(p)
}

// Package paced reads bodies and writes answers of any length: it limits the time for each piece, not for the whole.
package paced

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Body is a body of any length.
type Body struct {
	From     io.Reader
	Conn     *http.ResponseController
	Patience time.Duration // for each piece
	Until    time.Time     // by when the whole body must have come; zero: at any time
	Err      error         // why the body could not be read
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	deadline := time.Now().Add(b.Patience)
	if !b.Until.IsZero() && b.Until.Before(deadline) {
		deadline = b.Until
	}
	_ = b.Conn.SetReadDeadline(deadline)
	n, err := b.From.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.Err = err
	}
	return n, err
}

// Writer writes an answer of any length. A client that takes nothing for as long as its patience is cut off.
type Writer struct {
	http.ResponseWriter
	patience time.Duration
	conn     *http.ResponseController
}

// NewWriter returns a Writer.
func NewWriter(w http.ResponseWriter, patience time.Duration) Writer {
	return Writer{w, patience, http.NewResponseController(w)}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.patience))
	return w.ResponseWriter.Write(p)
}

// Refusing is a Writer that does not pass on the refusals of net/http, so that the handler can word them.
type Refusing struct {
	Writer
	Refused int // the status of a refusal; 0: none
}

// WriteHeader implements http.ResponseWriter.
func (w *Refusing) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.Refused = status
		return
	}
	w.Writer.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *Refusing) Write(p []byte) (int, error) {
	if w.Refused != 0 {
		return len(p), nil
	}
	return w.Writer.Write(p)
}

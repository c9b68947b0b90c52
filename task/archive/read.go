package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/taskrt/taskrt/task"
)

// reader reads an export line by line. It holds one line.
type reader struct {
	in     *bufio.Reader
	line   int64 // number of the last line that was read, from 1
	buf    []byte
	header Header
	counts Counts // counts what was read
	unread int64  // lines of an unknown kind
	forms  forms
}

// blob is a blob whose bytes follow in the next lines.
type blob struct {
	digest string
	bytes  *blobBytes
}

func (r *reader) errorf(format string, args ...any) error {
	return &Error{Line: r.line, Reason: fmt.Sprintf(format, args...)}
}

// unreadable is the error of a line that cannot be read.
func (r *reader) unreadable(format string, args ...any) error {
	r.unread++
	return &Error{Line: r.line, Reason: fmt.Sprintf(format, args...), line: true}
}

// open reads the header.
func open(in io.Reader) (*reader, error) {
	r := &reader{in: bufio.NewReaderSize(in, 64<<10)}
	name, value, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		r.line = 1
		return nil, r.errorf("there is nothing: the first line must be the header of an export")
	case err != nil:
		return nil, err
	case name != lineHeader:
		return nil, r.errorf("the first line must be the header of an export, not %.80q", name)
	}
	var format struct {
		Format int64 `json:"format"`
	}
	if err := json.Unmarshal(value, &format); err != nil || format.Format < oldest || format.Format > Format {
		return nil, r.errorf("format %d; this build reads %d to %d", format.Format, oldest, Format)
	}
	if err := r.decode(name, value, &r.header); err != nil {
		return nil, err
	}
	if r.header.Raw {
		return nil, r.errorf("a raw export is for looking at: it has no bytes of blobs, and cannot be imported")
	}
	if r.header.Namespace == nil {
		return nil, r.errorf("header.namespace is missing")
	}
	return r, nil
}

// next returns the member of the next line. After the last line it returns io.EOF. value is good until the next call.
func (r *reader) next() (name string, value json.RawMessage, err error) {
	if err := r.readLine(); err != nil {
		return "", nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.buf, &members); err != nil {
		return "", nil, r.unreadable("not a JSON object: %v", err)
	}
	if len(members) != 1 {
		return "", nil, r.unreadable("must be an object with one member, not %d", len(members))
	}
	for name, value = range members { // there is only one
	}
	return name, value, nil
}

// readLine reads the next line that is not empty into buf.
func (r *reader) readLine() error {
	for {
		r.line++
		r.buf = r.buf[:0]
		more := true
		for more {
			part, err := r.in.ReadSlice('\n')
			if len(r.buf)+len(part) > MaxLine {
				return r.errorf("longer than %d bytes", MaxLine)
			}
			r.buf = append(r.buf, part...)
			switch {
			case err == nil:
				more = false
			case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.buf)) == 0:
				return io.EOF
			case errors.Is(err, io.EOF):
				more = false
			case !errors.Is(err, bufio.ErrBufferFull):
				return fmt.Errorf("read export at line %d: %w", r.line, err)
			}
		}
		if len(bytes.TrimSpace(r.buf)) > 0 {
			return nil
		}
	}
}

// decode reads a record; v is a pointer.
func (r *reader) decode(name string, value json.RawMessage, v any) error {
	if bad := r.forms.decode(value, reflect.ValueOf(v).Elem(), name); bad != nil {
		bad.Line = r.line
		return bad
	}
	return nil
}

// record returns the next record: a *task.Module, *task.Behavior, *task.Operation, *task.Task, *task.StoreRecord or *blob.
// It returns nil at the end of a whole export.
func (r *reader) record() (any, error) {
	name, value, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, r.errorf("the end is missing: the export is torn")
	}
	if err != nil {
		return nil, err
	}
	var v any
	var count *int64
	switch name {
	case lineModule:
		v, count = new(task.Module), &r.counts.Modules
	case lineBehavior:
		v, count = new(task.Behavior), &r.counts.Behaviors
	case lineOperation:
		v, count = new(task.Operation), &r.counts.Operations
	case lineTask:
		v, count = new(task.Task), &r.counts.Tasks
	case lineRecord:
		v, count = new(task.StoreRecord), &r.counts.Records
	case lineBlob:
		r.counts.Blobs++
		return r.blob(value)
	case lineEnd:
		return nil, r.end(value)
	case lineError:
		return nil, r.failed(value)
	default:
		return nil, r.unreadable("there are no lines called %.80q", name)
	}
	*count++
	if bad := r.forms.decode(value, reflect.ValueOf(v).Elem(), name); bad != nil {
		bad.Line, bad.line = r.line, true
		return nil, bad
	}
	return v, nil
}

// failed returns the error that stands in the last line instead of the end.
func (r *reader) failed(value json.RawMessage) error {
	var why struct{ Reason string }
	if err := r.decode(lineError, value, &why); err != nil {
		return err
	}
	return r.errorf("the export failed here: %s", why.Reason)
}

// end compares the counts, and checks that nothing follows.
func (r *reader) end(value json.RawMessage) error {
	var told Counts
	if err := r.decode(lineEnd, value, &told); err != nil {
		return err
	}
	if !r.accounted(&told) {
		return r.errorf("the end counts %+v, but %+v came: lines are missing or twice", told, r.counts)
	}
	switch err := r.readLine(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return r.errorf("something follows the end")
}

// accounted reports whether the end's counts can be right: no more records came than they say, and no more records are missing than lines that could
// not be read.
func (r *reader) accounted(told *Counts) bool {
	a, b, missing := reflect.ValueOf(*told), reflect.ValueOf(r.counts), int64(0)
	for i := range a.NumField() {
		left := a.Field(i).Int() - b.Field(i).Int()
		if left < 0 {
			return false
		}
		missing += left
	}
	return missing <= r.unread
}

func (r *reader) blob(value json.RawMessage) (any, error) {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, r.errorf("blob: %v", err)
	}
	digest, bad := decodeDigest(text, lineBlob)
	if bad != nil {
		bad.Line = r.line
		return nil, bad
	}
	return &blob{digest, &blobBytes{r: r}}, nil
}

// blobBytes reads the bytes of a blob from the lines that follow it.
type blobBytes struct {
	r    *reader
	part []byte
	last bool
	err  error // what was wrong with a line
}

// Read implements io.Reader.
func (b *blobBytes) Read(p []byte) (int, error) {
	for len(b.part) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.last {
			return 0, io.EOF
		}
		b.err = b.line()
	}
	n := copy(p, b.part)
	b.part = b.part[n:]
	return n, nil
}

func (b *blobBytes) line() error {
	name, value, err := b.r.next()
	if errors.Is(err, io.EOF) {
		return b.r.errorf("the export is torn within a blob")
	}
	if err != nil {
		return err
	}
	if name == lineError {
		return b.r.failed(value)
	}
	if name != lineBytes {
		return b.r.errorf("the bytes of the blob go on, but the line is called %.80q", name)
	}
	var part bytesLine
	if err := json.Unmarshal(value, &part); err != nil {
		return b.r.errorf("bytes: %v", err)
	}
	b.part, b.last = part.Data, part.Last
	return nil
}

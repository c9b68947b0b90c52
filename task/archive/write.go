package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/task"
)

// Header is the first line.
type Header struct {
	Format    int64           // version of the form
	Raw       bool            // every stored record as it is; such an export cannot be imported
	Index     uint64          // of the log: the one state that all lines are of
	Time      task.Time       // of the log's clock
	Namespace *task.Namespace // as it was
}

// Counts are how many records of each kind an export has. In a raw one Blobs has no bytes.
type Counts struct {
	Modules    int64
	Behaviors  int64
	Operations int64
	Instances  int64
	Blobs      int64
	Tasks      int64
	Records    int64
}

// ErrNoNamespace says that there is no such namespace in the state.
var ErrNoNamespace = errors.New("archive: no such namespace")

// Open returns the bytes of a blob.
type Open func(digest string) (io.ReadCloser, error)

// Source is a frozen state, and where the bytes of its blobs are.
type Source struct {
	State *task.Frozen
	Blob  Open
}

// Write writes what is live in a namespace, or with raw every stored record of it. It holds one record and one piece of a
// blob at a time. When a blob cannot be read the last line says so.
func (s *Source) Write(w io.Writer, namespace string, raw bool) error {
	x := &writer{source: s, out: w, namespace: namespace, raw: raw, modules: map[string]bool{}, gone: map[string]bool{}, written: map[string]bool{}}
	if err := x.begin(); err != nil {
		return err
	}
	err := x.records()
	if err == nil {
		return x.put(lineEnd, &x.counts)
	}
	var failed *blobError
	if errors.As(err, &failed) {
		// Not a torn file: who reads it is told why.
		return errors.Join(err, x.put(lineError, &struct{ Reason string }{failed.Error()}))
	}
	return err
}

// writer is an export under way.
type writer struct {
	source    *Source
	out       io.Writer
	namespace string
	raw       bool
	enc       encoder
	counts    Counts

	modules map[string]bool // digests that behaviors of the namespace name
	gone    map[string]bool // behaviors that are purged, and operations that are removed: their tasks go
	written map[string]bool // digests of blobs
}

// blobError: the bytes of a blob could not be had.
type blobError struct {
	digest string
	err    error
}

func (e *blobError) Error() string {
	return fmt.Sprintf("the bytes of blob %s%s cannot be read: %v", digestMark, e.digest, e.err)
}
func (e *blobError) Unwrap() error { return e.err }

func (x *writer) put(name string, v any) error {
	if _, err := x.out.Write(x.enc.line(name, v)); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

// begin writes the header, and finds out what later records must know.
func (x *writer) begin() error {
	h := Header{Format: Format, Raw: x.raw, Index: x.source.State.Index()}
	for r := range x.source.State.Records {
		switch r := r.(type) {
		case *task.Head:
			h.Time = r.Now
			continue
		case *task.Namespace:
			if r.Name == x.namespace {
				h.Namespace = r
			}
			continue
		case *task.Behavior:
			if r.Namespace == x.namespace {
				for i := range r.Versions {
					x.modules[r.Versions[i].Module] = true
				}
			}
			continue
		}
		break // they stand first
	}
	if h.Namespace == nil || h.Namespace.Status == task.NamespaceIsPurged && !x.raw {
		return fmt.Errorf("%w: %s", ErrNoNamespace, x.namespace)
	}
	if err := x.put(lineHeader, &h); err != nil {
		return err
	}
	if x.raw {
		return x.put(lineNamespace, h.Namespace)
	}
	return nil
}

// records writes modules, then the rest in the order of the state.
func (x *writer) records() error {
	var err error
	for r := range x.source.State.Records {
		if m, ok := r.(*task.Module); ok && x.modules[m.Digest] {
			err = x.module(m)
		}
		if err != nil {
			return err
		}
		if _, past := r.(*task.Session); past {
			break
		}
	}
	for r := range x.source.State.Records {
		if err = x.record(r); err != nil {
			return err
		}
	}
	return nil
}

func (x *writer) module(m *task.Module) error {
	line := x.enc.line(lineModule, m)
	x.enc.blobs = append(x.enc.blobs, m.Digest)
	x.counts.Modules++
	return x.withBlobs(line)
}

func (x *writer) record(r task.Record) error {
	var name string
	var count *int64
	switch r := r.(type) {
	case *task.Behavior:
		if r.Namespace != x.namespace {
			return nil
		}
		if r.Purge {
			x.gone["behavior "+r.Name] = true
			if !x.raw {
				return nil
			}
		}
		name, count = lineBehavior, &x.counts.Behaviors
	case *task.Operation:
		if r.Namespace != x.namespace {
			return nil
		}
		if r.Removing {
			x.gone["operation "+r.ID] = true
			if !x.raw {
				return nil
			}
		}
		name, count = lineOperation, &x.counts.Operations
	case *task.Instance:
		if r.Namespace != x.namespace || !x.raw {
			return nil
		}
		name, count = lineInstance, &x.counts.Instances
	case *task.Task:
		if r.Namespace != x.namespace || !x.raw && x.leaves(r) {
			return nil
		}
		name, count = lineTask, &x.counts.Tasks
	case *task.StoreRecord:
		if r.Namespace != x.namespace {
			return nil
		}
		name, count = lineRecord, &x.counts.Records
	default:
		return nil
	}
	*count++
	return x.withBlobs(x.enc.line(name, r))
}

// leaves reports whether a task is about to be removed: it is not live.
func (x *writer) leaves(t *task.Task) bool {
	return x.gone["behavior "+t.Behavior] || t.Role != task.RoleNone && x.gone["operation "+t.Parent]
}

// withBlobs writes a line, and before it the blobs that it needs and that no line before it has needed.
func (x *writer) withBlobs(line []byte) error {
	for _, digest := range x.enc.blobs {
		if x.written[digest] {
			continue
		}
		x.written[digest] = true
		x.counts.Blobs++
		if err := x.blob(digest); err != nil {
			return err
		}
	}
	if _, err := x.out.Write(line); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

// blob writes a blob's bytes in pieces; its size is what they sum up to, and the digest says if they are all.
func (x *writer) blob(digest string) error {
	if _, err := fmt.Fprintf(x.out, "{\"%s\":\"%s%s\"}\n", lineBlob, digestMark, digest); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	if x.raw {
		return nil
	}
	r, err := x.source.Blob(digest)
	if err != nil {
		return &blobError{digest, err}
	}
	defer r.Close()
	part := make([]byte, piece)
	for last := false; !last; {
		n, err := io.ReadFull(r, part)
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return &blobError{digest, err}
		}
		if err := x.piece(part[:n], last); err != nil {
			return err
		}
	}
	return nil
}

// bytesLine is a piece of the blob that stands before it.
type bytesLine struct {
	Data []byte `json:"data"`
	Last bool   `json:"last,omitempty"`
}

func (x *writer) piece(data []byte, last bool) error {
	b, _ := json.Marshal(map[string]bytesLine{lineBytes: {data, last}})
	if _, err := x.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

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
	Index     uint64          // of the log: all lines are of the state at this index
	Time      task.Time       // of the log's clock
	Namespace *task.Namespace // as it was
}

// Counts are how many records of each kind an export has. In a raw export, Blobs counts blobs without their bytes.
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

// Open opens the bytes of a blob.
type Open func(digest string) (io.ReadCloser, error)

// Source is a frozen state, and a way to the bytes of its blobs.
type Source struct {
	State *task.Frozen
	Blob  Open
}

// Write writes the live records of a namespace, or with raw every stored record. It holds one record and one piece of a
// blob at a time. If a blob cannot be read, the last line says so.
func (s *Source) Write(w io.Writer, namespace string, raw bool) error {
	x := &writer{
		source: s, out: w, namespace: namespace, raw: raw, modules: map[string]bool{}, purged: map[string]bool{},
		removed: map[task.Key]bool{}, written: map[string]bool{},
	}
	if err := x.begin(); err != nil {
		return err
	}
	err := x.records()
	if err == nil {
		return x.put(lineEnd, &x.counts)
	}
	var failed *blobError
	if errors.As(err, &failed) {
		// The file is not torn: its reader is told why it ends.
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

	modules map[string]bool   // digests that behaviors of the namespace name
	purged  map[string]bool   // by behavior of the namespace, whether its tasks are removed with it
	removed map[task.Key]bool // by key of an operation, of any namespace, whose tasks are removed with it
	written map[string]bool   // digests of blobs
}

// blobError says that the bytes of a blob could not be read.
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

// begin writes the header, and collects what is needed to write later records.
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
				x.purged[r.Name] = r.Purge
				for i := range r.Versions {
					x.modules[r.Versions[i].Module] = true
				}
			}
			continue
		}
		break // the records above stand first
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
	for r := range x.source.State.Records {
		switch r := r.(type) {
		case *task.Head, *task.Namespace, *task.Behavior:
			continue
		case *task.Module:
			if x.modules[r.Digest] {
				if err := x.module(r); err != nil {
					return err
				}
			}
			continue
		}
		break // modules stand before all other records
	}
	for r := range x.source.State.Records {
		if err := x.record(r); err != nil {
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
	var name, namespace string
	var count *int64
	live := true // false: only a raw export has the record
	switch r := r.(type) {
	case *task.Behavior:
		name, namespace, count, live = lineBehavior, r.Namespace, &x.counts.Behaviors, !r.Purge
	case *task.Operation:
		name, namespace, count, live = lineOperation, r.Namespace, &x.counts.Operations, !r.Removing
		if r.Removing {
			x.removed[r.Key()] = true
		}
	case *task.Instance:
		name, namespace, count, live = lineInstance, r.Namespace, &x.counts.Instances, false
	case *task.Task:
		name, namespace, count, live = lineTask, r.Namespace, &x.counts.Tasks, !x.leaves(r)
	case *task.StoreRecord:
		name, namespace, count = lineRecord, r.Namespace, &x.counts.Records
	default:
		return nil
	}
	if namespace != x.namespace || !live && !x.raw {
		return nil
	}
	*count++
	return x.withBlobs(x.enc.line(name, r))
}

// leaves reports whether a task of the namespace is about to be removed, and so is not live.
func (x *writer) leaves(t *task.Task) bool {
	return x.purged[t.Behavior] || t.Role != task.RoleNone && x.removed[task.Key{Namespace: t.Namespace, ID: t.Parent}]
}

// withBlobs writes a line. Before the line it writes the blobs that the line needs and that no earlier line has needed.
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

// blob writes a blob's bytes in pieces. The blob's size is the sum of the pieces, and the digest says whether all of them are there.
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

// bytesLine is a piece of the blob whose line stands before it.
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

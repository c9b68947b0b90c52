package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/task"
)

// Bounds of one command: an entry of the log, and what one entry may hold up.
const (
	batchBytes   = 256 << 10
	batchRecords = 500
)

// maxModules bounds the lines of modules, in bytes: they are held until the end, for the behaviors that need them.
const maxModules = 64 << 20

// Sink takes up what an export holds. All of it is safe to do twice.
type Sink interface {
	// Create makes the namespace if it is not there, with the settings of the one that was exported.
	Create(ctx context.Context, exported *task.Namespace) error
	// Put stores a blob unless it is there, and reports whether it did. It reads to the end, and refuses bytes that do
	// not have the digest.
	Put(ctx context.Context, digest string, bytes io.Reader) (stored bool, err error)
	// Take takes up records of one kind, and returns how many of them were new.
	Take(ctx context.Context, c task.ImportRecords) (taken int64, err error)
}

// LinesError is why lines were not taken up.
type LinesError struct {
	First, Last int64
	Err         error
}

func (e *LinesError) Error() string { return e.Lines() + ": " + e.Err.Error() }
func (e *LinesError) Unwrap() error { return e.Err }

// Lines names them.
func (e *LinesError) Lines() string {
	if e.First == e.Last {
		return fmt.Sprintf("line %d", e.First)
	}
	return fmt.Sprintf("lines %d to %d", e.First, e.Last)
}

// Taken counts what was taken up, and what was there already.
type Taken struct {
	Counts
	Skipped int64
}

// Import reads an export into a namespace, in one pass and holding one batch and what is said of modules. What was taken
// up before something is wrong stays: an import that is done again goes on. An *Error is about the file, a *LinesError what
// the sink said of lines.
func Import(ctx context.Context, in io.Reader, namespace string, sink Sink) (*Taken, error) {
	r, err := open(in)
	if err != nil {
		return nil, err
	}
	if err := sink.Create(ctx, r.header.Namespace); err != nil {
		return nil, &LinesError{1, 1, err}
	}
	x := &importer{reader: r, sink: sink, namespace: namespace, modules: map[string]*task.Module{}}
	for {
		v, err := r.record()
		if err != nil {
			return nil, errors.Join(err, x.flush(ctx)) // the lines before it were right
		}
		if v == nil {
			err := x.flush(ctx)
			x.taken.Skipped += int64(len(x.modules)) - x.taken.Modules
			return &x.taken, err
		}
		if err := x.take(ctx, v); err != nil {
			return nil, err
		}
	}
}

// importer is an import under way.
type importer struct {
	*reader
	sink      Sink
	namespace string
	taken     Taken

	modules map[string]*task.Module // those that were read: each goes with the behaviors that need it
	held    int                     // bytes of their lines

	batch   task.ImportRecords // of one kind
	kind    *int64             // what it counts as
	records int64
	bytes   int
	first   int64 // line
	last    int64
}

func (x *importer) take(ctx context.Context, v any) error {
	switch v := v.(type) {
	case *blob:
		return x.blob(ctx, v)
	case *task.Module:
		if x.held += len(x.buf); x.held > maxModules {
			return x.errorf("the modules take more than %d bytes", maxModules)
		}
		x.modules[v.Digest] = v
		return nil
	case *task.Behavior:
		return x.behavior(ctx, v)
	}
	kind := x.kindOf(v)
	size := len(x.buf)
	if x.records > 0 && (kind != x.kind || x.records >= batchRecords || x.bytes+size > batchBytes) {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	if x.records == 0 {
		x.first, x.kind = x.line, kind
	}
	x.last = x.line
	x.records++
	x.bytes += size
	switch v := v.(type) {
	case *task.Operation:
		v.Namespace = x.namespace
		x.batch.Operations = append(x.batch.Operations, v)
	case *task.Task:
		v.Namespace = x.namespace
		x.batch.Tasks = append(x.batch.Tasks, v)
	case *task.StoreRecord:
		v.Namespace = x.namespace
		x.batch.Records = append(x.batch.Records, v)
	}
	return nil
}

func (x *importer) kindOf(v any) *int64 {
	switch v.(type) {
	case *task.Operation:
		return &x.taken.Operations
	case *task.Task:
		return &x.taken.Tasks
	}
	return &x.taken.Records
}

// behavior takes up a behavior with the modules that it needs: a module that nothing needs does not stay.
func (x *importer) behavior(ctx context.Context, b *task.Behavior) error {
	if err := x.flush(ctx); err != nil {
		return err
	}
	b.Namespace = x.namespace
	c := task.ImportRecords{Namespace: x.namespace, Behaviors: []*task.Behavior{b}}
	sent := map[string]bool{}
	for i := range b.Versions {
		digest := b.Versions[i].Module
		if m := x.modules[digest]; m != nil && !sent[digest] {
			c.Modules, sent[digest] = append(c.Modules, m), true
		}
	}
	n, err := x.sink.Take(ctx, c)
	switch {
	case err != nil:
		return &LinesError{x.line, x.line, err}
	case n == 0:
		x.taken.Skipped++
	default:
		x.taken.Behaviors++
		x.taken.Modules += n - 1
	}
	return nil
}

// flush takes up the batch.
func (x *importer) flush(ctx context.Context) error {
	if x.records == 0 {
		return nil
	}
	x.batch.Namespace = x.namespace
	n, err := x.sink.Take(ctx, x.batch)
	if err != nil {
		return &LinesError{x.first, x.last, err}
	}
	*x.kind += n
	x.taken.Skipped += x.records - n
	x.batch, x.records, x.bytes = task.ImportRecords{}, 0, 0
	return nil
}

// blob stores a blob at once: what is in the batch may not wait for it, what comes needs it.
func (x *importer) blob(ctx context.Context, b *blob) error {
	line := x.line
	stored, err := x.sink.Put(ctx, b.digest, b.bytes)
	if err == nil {
		_, err = io.Copy(io.Discard, b.bytes) // nothing, if the sink did as it should
	}
	if b.bytes.err != nil {
		return b.bytes.err // the sink's error is about that
	}
	if err != nil {
		return &LinesError{line, x.line, err}
	}
	if stored {
		x.taken.Blobs++
	} else {
		x.taken.Skipped++
	}
	return nil
}

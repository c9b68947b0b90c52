package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/task"
)

// batchBytes and batchRecords bound one command. A command is an entry of the log, and an entry holds up others.
const (
	batchBytes   = 256 << 10
	batchRecords = 500
)

// maxModules bounds the lines of modules, in bytes: they are held until the end, for the behaviors that need them.
const maxModules = 64 << 20

// Sink takes up the content of an export. All of its methods are safe to call twice with the same content.
type Sink interface {
	// Create makes the namespace if it does not exist, with the settings of the exported one.
	Create(ctx context.Context, exported *task.Namespace) error
	// Put stores a blob unless it is there, and reports whether it stored it. It reads to the end, and refuses bytes that do
	// not match the digest.
	Put(ctx context.Context, digest string, bytes io.Reader) (stored bool, err error)
	// Take takes up records of one kind, all or none, and returns how many of them were new. A RefusedError is about the
	// records.
	Take(ctx context.Context, c task.ImportRecords) (taken int64, err error)
	// Task may change a task before it is taken up.
	Task(ctx context.Context, t *task.Task) error
}

// RefusedError says that a sink does not take the records that it was given, and would take others. The wrong records are found, named and
// left out. Any other error ends an import.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// These bound how many lines may be wrong before an import gives up, and how many of them it remembers.
const (
	maxRefused = 10_000
	maxTold    = 1_000
)

// Refusal is a line that was not taken up. Err is an *Error about the line itself, or the error of the sink.
type Refusal struct {
	Line int64
	Err  error
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

// Taken counts the records that were taken up, and the records that were there already.
type Taken struct {
	Counts
	Skipped  int64
	Refused  int64     // lines that were not taken up
	Refusals []Refusal // the first of them
}

// Import reads an export into a namespace. It makes one pass, and holds one batch and the lines of modules. It refuses lines that are
// wrong by themselves, tells them, and takes up the others. If something ends the import, the lines that were taken up stay, and an
// import that is done again goes on. An *Error is about the file; a *LinesError holds what the sink said about lines.
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
		if bad, ok := errors.AsType[*Error](err); ok && bad.line {
			if err := x.refuse(bad.Line, bad); err != nil {
				return nil, err
			}
			continue
		}
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

	modules map[string]*task.Module // the modules that were read; each goes with its behaviors
	held    int                     // bytes of their lines

	batch []entry // of one kind
	kind  *int64  // what it counts as
	bytes int

	failed map[string]int64 // lines of operations that were refused, by ID
}

// entry is a record that waits to be taken up.
type entry struct {
	line   int64
	record any
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
	if len(x.batch) > 0 && (kind != x.kind || len(x.batch) >= batchRecords || x.bytes+size > batchBytes) {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	if t, ok := v.(*task.Task); ok {
		if line, gone := x.failed[t.Parent]; gone && t.Role != task.RoleNone {
			return x.refuse(x.line, x.errorf("it is of the operation in line %d, which was refused", line))
		}
		if err := x.sink.Task(ctx, t); err != nil {
			return x.about(x.line, err)
		}
	}
	x.kind = kind
	x.batch = append(x.batch, entry{x.line, v})
	x.bytes += size
	return nil
}

// kindOf returns what a record counts as. Its creator is an access token of another cluster, whose number says nothing here. Its trace ended
// with the export.
func (x *importer) kindOf(v any) *int64 {
	switch v := v.(type) {
	case *task.Operation:
		v.Creator, v.Trace = 0, ""
		return &x.taken.Operations
	case *task.Task:
		v.Creator, v.Trace = 0, ""
		return &x.taken.Tasks
	}
	return &x.taken.Records
}

// behavior takes up a behavior with the modules that it needs. A module that nothing needs does not stay.
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
		return x.about(x.line, err)
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
	batch := x.batch
	x.batch, x.bytes = nil, 0
	return x.takeUp(ctx, batch)
}

// takeUp takes up records of one kind. If some are refused, it looks for them by halves, so that the others are taken up.
func (x *importer) takeUp(ctx context.Context, batch []entry) error {
	if len(batch) == 0 {
		return nil
	}
	n, err := x.sink.Take(ctx, x.command(batch))
	if err == nil {
		*x.kind += n
		x.taken.Skipped += int64(len(batch)) - n
		return nil
	}
	if _, refused := errors.AsType[*RefusedError](err); !refused {
		return &LinesError{batch[0].line, batch[len(batch)-1].line, err}
	}
	if len(batch) == 1 {
		if o, ok := batch[0].record.(*task.Operation); ok {
			if x.failed == nil {
				x.failed = map[string]int64{}
			}
			x.failed[o.ID] = batch[0].line
		}
		return x.refuse(batch[0].line, err)
	}
	half := len(batch) / 2
	if err := x.takeUp(ctx, batch[:half]); err != nil {
		return err
	}
	return x.takeUp(ctx, batch[half:])
}

func (x *importer) command(batch []entry) task.ImportRecords {
	c := task.ImportRecords{Namespace: x.namespace}
	for _, e := range batch {
		switch v := e.record.(type) {
		case *task.Operation:
			v.Namespace = x.namespace
			c.Operations = append(c.Operations, v)
		case *task.Task:
			v.Namespace = x.namespace
			c.Tasks = append(c.Tasks, v)
		case *task.StoreRecord:
			v.Namespace = x.namespace
			c.Records = append(c.Records, v)
		}
	}
	return c
}

// about decides how an import goes on after the sink has returned an error about one line.
func (x *importer) about(line int64, err error) error {
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return x.refuse(line, err)
	}
	return &LinesError{line, line, err}
}

// refuse notes a line that is not taken up. An import ends if nearly everything is wrong, because looking for the right lines costs time.
func (x *importer) refuse(line int64, err error) error {
	if x.taken.Refused++; x.taken.Refused > maxRefused {
		return x.errorf("more than %d lines were refused; the last of them, line %d: %v", maxRefused, line, err)
	}
	if len(x.taken.Refusals) < maxTold {
		x.taken.Refusals = append(x.taken.Refusals, Refusal{line, err})
	}
	return nil
}

// blob stores a blob at once. The records of the batch need not wait for it; the records that come next need it.
func (x *importer) blob(ctx context.Context, b *blob) error {
	line := x.line
	stored, err := x.sink.Put(ctx, b.digest, b.bytes)
	if _, rest := io.Copy(io.Discard, b.bytes); err == nil { // if the sink has taken the blob, nothing is left to read
		err = rest
	}
	if b.bytes.err != nil {
		return b.bytes.err // the sink's error follows from this one
	}
	if err != nil {
		return x.about(line, err)
	}
	if stored {
		x.taken.Blobs++
	} else {
		x.taken.Skipped++
	}
	return nil
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/blobs"
	"github.com/taskrt/taskrt/worker/stream"
)

// maxOutput bounds a result or a checkpoint in bytes, whatever the behavior's limits are (SPEC H3).
const maxOutput = 16 << 20

// output is a result or a checkpoint on its way into a report: the payload, and the bytes that it needs in the blob store.
type output struct {
	payload task.Payload
	content []byte // the content of the payload; nil if it is over every limit
	put     []byte // bytes to store before the payload is reported
}

// outputOf takes what a guest wrote. A text that is {"$blob": …} stands for the content of the blob, and the blob's size counts.
func (r *run) outputOf(ctx context.Context, data []byte) (output, error) {
	o := output{payload: payload(data), content: data}
	if digest, ok := blobs.Reference(data); ok && o.payload.Encoding == task.JSON {
		return r.referred(ctx, digest)
	}
	var needs task.Blobs
	if o.payload.Encoding == task.JSON {
		needs.Named = blobs.Named(data)
	}
	if len(needs.Named) > task.MaxNamed {
		return o, fmt.Errorf("%w: it names %d blobs, at most %d", errUnfit, len(needs.Named), task.MaxNamed)
	}
	if len(data) > maxInline {
		o.payload.Data, o.put = nil, data
		needs.Size = int64(len(data))
	}
	if o.put != nil || needs.Named != nil {
		o.payload.Blobs = &needs
	}
	return o, nil
}

// referred makes the output of a guest that named a blob.
func (r *run) referred(ctx context.Context, digest string) (output, error) {
	b, err := r.s.w.cfg.Blobs.Open(ctx, digest)
	if err != nil {
		return output{}, fmt.Errorf("the blob sha256:%s that it refers to: %w", digest, err)
	}
	defer b.Close()
	o := output{payload: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest, Size: b.Size()}}}
	if b.Size() > maxOutput {
		return o, nil // it is over every limit
	}
	o.content = make([]byte, b.Size())
	if n, err := b.ReadAt(o.content, 0); n < len(o.content) && !errors.Is(err, io.EOF) {
		return o, fmt.Errorf("read the blob sha256:%s that it refers to: %w", digest, err)
	}
	if isJSON(o.content) {
		o.payload.Encoding = task.JSON
		if o.payload.Blobs.Named = blobs.Named(o.content); len(o.payload.Blobs.Named) > task.MaxNamed {
			return o, fmt.Errorf("%w: sha256:%s names %d blobs, at most %d", errUnfit, digest, len(o.payload.Blobs.Named), task.MaxNamed)
		}
	}
	return o, nil
}

// store puts the bytes that the output needs into the blob store. It tries until ctx ends.
func (r *run) store(ctx context.Context, o *output) error {
	if o.put == nil {
		return nil
	}
	digest, err := retried(ctx, math.MaxInt, func() (string, error) { return r.s.w.cfg.Blobs.Put(ctx, o.put) })
	if err != nil {
		return fmt.Errorf("%d bytes could not be stored: %w", len(o.put), err)
	}
	blobs := *o.payload.Blobs
	blobs.Content = digest
	o.payload.Blobs = &blobs
	return nil
}

// settle makes the result of a success ready to be reported. This takes as long as the blob store does. If the result cannot be kept, the
// success becomes the failure that says why, or the end for which the run was stopped meanwhile.
func (r *run) settle(out *runtime.Outcome) {
	if out.Kind != runtime.Succeeded || !out.HasResult {
		return
	}
	o, err := r.settled(out.Result)
	if err == nil {
		r.result = o
		return
	}
	lasting := errors.Is(err, errUnfit) || errors.Is(err, ErrNoBlob)
	cause := context.Cause(r.ctx)
	if !lasting && (errors.Is(cause, runtime.ErrKilledCancel) || errors.Is(cause, runtime.ErrKilledStop)) {
		*out = runtime.Outcome{Kind: runtime.Killed, Cause: cause, PeakMemory: out.PeakMemory, Fuel: out.Fuel}
		return
	}
	*out = runtime.Outcome{
		Kind: runtime.Failed, Class: runtime.ClassGuest, Code: runtime.CodeHandlerError, Retryable: !lasting, Message: "the result: " + err.Error(),
		Started: out.Started, Ended: out.Ended, PeakMemory: out.PeakMemory, Fuel: out.Fuel, Stderr: out.Stderr,
	}
}

// errUnfit means that what a guest wrote cannot be kept, whichever worker runs it.
var errUnfit = errors.New("cannot be kept")

// settled returns the output once its bytes are where its payload says.
func (r *run) settled(result []byte) (o output, err error) {
	limit := min(r.a.Policy.Limits.ResultBytes, maxOutput)
	size := int64(len(result))
	if size <= limit {
		if o, err = r.outputOf(r.ctx, result); err != nil {
			return o, err
		}
		size = o.payload.Len()
	}
	if size > limit {
		return o, fmt.Errorf("%w: %d bytes, limit %d", errUnfit, size, limit)
	}
	if err := r.s.w.schemas.Check(r.a.Policy.ResultSchema, o.content); err != nil {
		return o, fmt.Errorf("%w: it does not match the behavior's result_schema: %w", errUnfit, err)
	}
	r.enterStoring()
	return o, r.store(r.ctx, &o)
}

// enterStoring enters the phase in which no guest code runs any longer and the result is being stored. The slot stays
// taken, because the run's memory does.
func (r *run) enterStoring() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.enterLocked(r, storing)
}

// maxStores bounds how often the bytes of a report are stored again, because they were gone when the report was applied (SPEC M3).
const maxStores = 3

// storeAgainTime bounds each of these stores: otherwise only the session's end would stop it.
const storeAgainTime = time.Minute

// storeAgain stores the bytes of a result again, and reports the result again.
func (r *run) storeAgain(rep stream.Report) {
	s := r.s
	ctx, cancel := context.WithTimeout(s.ctx, storeAgainTime)
	defer cancel()
	o := r.result
	err := r.store(ctx, &o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || r.halted {
		return
	}
	r.seq++
	again := *rep.Finish
	again.Seq, again.Result = r.seq, o.payload
	if err != nil {
		again.Result, again.Again, again.InTxn, rep.Children = task.Payload{}, 0, false, nil
		again.Error = &task.Error{Code: task.CodeHandlerError, Retryable: true, Message: clipped("the result was lost: " + err.Error())}
	}
	rep.Finish = &again
	s.addLocked(r, lastReport, rep)
	s.nudge()
}

// restoreLocked stores a result again whose blob was gone, if its bytes are here. It returns false if the refusal is about something else.
func (s *session) restoreLocked(e *entry, code task.Code) bool {
	r := e.run
	if code != task.BlobGone || e.rep.Finish == nil || r.result.put == nil || r.stores >= maxStores || s.over {
		return false
	}
	r.stores++
	s.w.wg.Go(func() { r.storeAgain(e.rep) })
	return true
}

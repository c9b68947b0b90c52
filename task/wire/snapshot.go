package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/taskrt/taskrt/task"
)

// A snapshot is the magic, a version byte, and records: a tag byte, the length of the body as a uvarint, the body in
// CBOR. The last record has the tag 0 and no body, and nothing follows it.
const (
	snapshotMagic   = "taskrt-snapshot\n"
	snapshotVersion = Format
	maxRecord       = 64 << 20 // bytes; far above any record that the limits of the API allow
)

// These are the tags of records. Never reuse a tag.
const (
	tagEnd byte = iota
	tagHead
	tagBehavior
	tagModule
	tagSession
	tagProcess
	tagAnswer
	tagTask
	tagClientKey
	tagStoreRecord
	tagNamespace
	tagOperation
	tagInstance
	tagBlob
	tagMaintenanceRun
	tagAccessToken
	tagAuditRecord
)

func tagOf(r task.Record) (byte, error) {
	switch r.(type) {
	case *task.Head:
		return tagHead, nil
	case *task.Behavior:
		return tagBehavior, nil
	case *task.Module:
		return tagModule, nil
	case *task.Session:
		return tagSession, nil
	case *task.Process:
		return tagProcess, nil
	case *task.Answer:
		return tagAnswer, nil
	case *task.Task:
		return tagTask, nil
	case *task.ClientKey:
		return tagClientKey, nil
	case *task.StoreRecord:
		return tagStoreRecord, nil
	case *task.Namespace:
		return tagNamespace, nil
	case *task.Operation:
		return tagOperation, nil
	case *task.Instance:
		return tagInstance, nil
	case *task.Blob:
		return tagBlob, nil
	case *task.MaintenanceRun:
		return tagMaintenanceRun, nil
	case *task.AccessToken:
		return tagAccessToken, nil
	case *task.AuditRecord:
		return tagAuditRecord, nil
	}
	return 0, fmt.Errorf("wire: unknown record %T", r)
}

func decodeRecord(tag byte, body []byte, shared *names) (task.Record, error) {
	switch tag {
	case tagTask:
		if t := readTask(body, shared); t != nil {
			return t, nil
		}
	case tagAnswer:
		if a := readAnswer(body, shared); a != nil {
			return a, nil
		}
	}
	var r task.Record
	switch tag {
	case tagHead:
		r = new(task.Head)
	case tagBehavior:
		r = new(task.Behavior)
	case tagModule:
		r = new(task.Module)
	case tagSession:
		r = new(task.Session)
	case tagProcess:
		r = new(task.Process)
	case tagAnswer:
		r = new(task.Answer)
	case tagTask:
		r = new(task.Task)
	case tagClientKey:
		r = new(task.ClientKey)
	case tagStoreRecord:
		r = new(task.StoreRecord)
	case tagNamespace:
		r = new(task.Namespace)
	case tagOperation:
		r = new(task.Operation)
	case tagInstance:
		r = new(task.Instance)
	case tagBlob:
		r = new(task.Blob)
	case tagMaintenanceRun:
		r = new(task.MaintenanceRun)
	case tagAccessToken:
		r = new(task.AccessToken)
	case tagAuditRecord:
		r = new(task.AuditRecord)
	default:
		return nil, fmt.Errorf("%w: snapshot record with the unknown tag %d", ErrMalformed, tag)
	}
	if err := cborModes.strict.Unmarshal(body, r); err != nil {
		return nil, malformed(err)
	}
	return r, nil
}

// readAnswer reads b without the library. If it returns nil, the library has to read b.
func readAnswer(b []byte, shared *names) *task.Answer {
	r := reader{b: b, names: shared}
	a := r.answer()
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return a
}

// appendRecord appends the body of a record. Most of them are tasks.
func appendRecord(b []byte, r task.Record) ([]byte, error) {
	switch r := r.(type) {
	case *task.Task:
		return AppendTask(b, r)
	case *task.Answer:
		if b, ok := appendAnswer(b, r); ok {
			return b, nil
		}
	}
	return appendByLibrary(b, r)
}

// WriteSnapshot writes f. It may run beside Apply.
func WriteSnapshot(w io.Writer, f *task.Frozen) error {
	out := bufio.NewWriterSize(w, 256<<10)
	if _, err := out.Write(append([]byte(snapshotMagic), snapshotVersion)); err != nil {
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	var body, head []byte
	for r := range f.Records {
		tag, err := tagOf(r)
		if err != nil {
			return err
		}
		if body, err = appendRecord(body[:0], r); err != nil {
			return fmt.Errorf("wire: snapshot record %T: %w", r, err)
		}
		head = binary.AppendUvarint(append(head[:0], tag), uint64(len(body)))
		if _, err := out.Write(head); err != nil {
			return fmt.Errorf("wire: snapshot: %w", err)
		}
		if _, err := out.Write(body); err != nil {
			return fmt.Errorf("wire: snapshot: %w", err)
		}
	}
	if _, err := out.Write([]byte{tagEnd, 0}); err != nil {
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	return nil
}

// ReadSnapshot builds a machine from what WriteSnapshot wrote. It reads r to its end. It refuses a snapshot that is truncated, has something behind
// its end, or does not have the digest that it names. The options go to task.Restore.
func ReadSnapshot(r io.Reader, options ...task.Option) (*task.Machine, error) {
	return task.Restore(records(bufio.NewReaderSize(r, 256<<10)), options...)
}

// These are the sizes of batches. Decoding a snapshot runs beside building the machine from it. Each takes half of the time, and a node that starts
// has nothing else to do.
const (
	batchRecords = 128
	batchBytes   = 256 << 10
	batchesAhead = 2
)

// decoded is a record, or the error after which there are no more.
type decoded struct {
	record task.Record
	err    error
}

// records yields the records of a snapshot, or an error as the last element.
func records(r *bufio.Reader) iter.Seq2[task.Record, error] {
	return func(yield func(task.Record, error) bool) {
		batches, stop := make(chan []decoded, batchesAhead), make(chan struct{})
		go decodeAll(r, batches, stop)
		defer func() { // r is the caller's again
			close(stop)
			for range batches { // until decodeAll has ended
			}
		}()
		for batch := range batches {
			for _, x := range batch {
				if !yield(x.record, x.err) {
					return
				}
			}
		}
	}
}

// decodeAll reads r to its end or to an error, unless stop is closed.
func decodeAll(r *bufio.Reader, batches chan<- []decoded, stop <-chan struct{}) {
	defer close(batches)
	err := readMagic(r)
	var body bytes.Buffer
	shared := new(names)
	for ended := false; !ended; {
		batch := make([]decoded, 0, batchRecords)
		for size := 0; err == nil && len(batch) < batchRecords && size < batchBytes; {
			var x decoded
			var n int
			if x.record, n, err = readRecord(r, &body, shared); err == nil {
				batch = append(batch, x)
				size += n
			}
		}
		ended = err != nil
		if ended && !errors.Is(err, io.EOF) {
			batch = append(batch, decoded{err: err})
		}
		select {
		case batches <- batch:
		case <-stop:
			return
		}
	}
}

func readMagic(r *bufio.Reader) error {
	var start [len(snapshotMagic) + 1]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return fmt.Errorf("%w: snapshot: %w", ErrMalformed, noEOF(err))
	}
	if string(start[:len(snapshotMagic)]) != snapshotMagic {
		return fmt.Errorf("%w: not a snapshot", ErrMalformed)
	}
	if v := start[len(snapshotMagic)]; v != snapshotVersion {
		return fmt.Errorf("%w: snapshot format %d", ErrMalformed, v)
	}
	return nil
}

// readRecord returns a record and its length; io.EOF after the end record, if nothing is behind it.
func readRecord(r *bufio.Reader, body *bytes.Buffer, shared *names) (task.Record, int, error) {
	tag, err := r.ReadByte()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: snapshot: %w", ErrMalformed, noEOF(err))
	}
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: snapshot: %w", ErrMalformed, noEOF(err))
	}
	if tag == tagEnd {
		return nil, 0, readEnd(r, n)
	}
	if n > maxRecord {
		return nil, 0, fmt.Errorf("%w: snapshot: a record of %d bytes", ErrMalformed, n)
	}
	body.Reset()
	if _, err := io.CopyN(body, r, int64(n)); err != nil { // the buffer grows with the bytes that are there, not with the length that is claimed
		return nil, 0, fmt.Errorf("%w: snapshot: %w", ErrMalformed, noEOF(err))
	}
	record, err := decodeRecord(tag, body.Bytes(), shared)
	return record, int(n), err
}

// readEnd returns io.EOF if the end record, which claims n bytes, is the end.
func readEnd(r *bufio.Reader, n uint64) error {
	if n != 0 {
		return fmt.Errorf("%w: snapshot: end record with a body", ErrMalformed)
	}
	switch _, err := r.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: snapshot: something behind its end", ErrMalformed)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	return io.EOF
}

// noEOF keeps a truncated snapshot from looking like a whole one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

package spaces

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/archive"
)

// Target is a Service that takes up an export.
type Target interface {
	// Put stores a blob unless it is stored already, and reports whether it did; see archive.Sink.
	Put(ctx context.Context, digest string, bytes io.Reader) (stored bool, err error)
	// Propose applies a command. If the outcome is unknown, it may propose the command a second time. A refusal is an error.
	Propose(ctx context.Context, c task.Command) (task.Result, error)
	// DeterministicID returns the ID that a submit of these params would get if it gave no ID and the behavior hashes the
	// values that the pointers pick from the params (SPEC I2). An error says that there is no such ID.
	DeterministicID(ctx context.Context, namespace, behavior string, pointers []string, p task.Payload) (string, error)
	// Freeze returns the present state.
	Freeze(ctx context.Context) (*task.Frozen, error)
	// Level returns the cluster's feature level (SPEC C9).
	Level() uint64
}

// Import takes up an export. Every error names the lines that it is about.
func Import(ctx context.Context, r api.ImportRequest, to Target) (*api.ImportReply, error) {
	if err := api.CheckUserNamespace(r.Name); err != nil {
		return nil, err
	}
	into := &sink{Target: to, namespace: r.Name, rehash: r.Rehash, ids: map[string][][]string{}}
	n, err := archive.Import(ctx, r.Body, r.Name, into)
	if err != nil {
		return nil, importError(err)
	}
	reply := &api.ImportReply{
		Tasks: n.Tasks, Operations: n.Operations, Records: n.Records, Behaviors: n.Behaviors, Modules: n.Modules,
		Blobs: n.Blobs, Skipped: n.Skipped, Refused: n.Refused, Rehashed: into.rehashed, ForeignIDs: into.foreign,
		Refusals: []api.ImportRefusal{},
	}
	for _, bad := range n.Refusals {
		reply.Refusals = append(reply.Refusals, refusal(bad))
	}
	return reply, nil
}

// refusal returns what the API says of a line that was not taken up.
func refusal(r archive.Refusal) api.ImportRefusal {
	told := api.ImportRefusal{Line: r.Line}
	if bad, ok := errors.AsType[*archive.Error](r.Err); ok {
		told.Code, told.Field, told.Detail = api.CodeBadArchive, bad.Field, bad.Reason
		return told
	}
	if e, ok := errors.AsType[*api.Error](r.Err); ok {
		told.Code, told.Field, told.Detail = e.Code, e.Field, e.Detail
	}
	return told
}

// importError turns the error that ended an import into an error of the API.
func importError(err error) error {
	if bad, ok := errors.AsType[*archive.Error](err); ok {
		e := api.NewError(api.CodeBadArchive, "%s", bad.Reason)
		e.Field = fmt.Sprintf("line %d", bad.Line)
		if bad.Field != "" {
			e.Field += ", " + bad.Field
		}
		return e
	}
	at, ok := errors.AsType[*archive.LinesError](err)
	refused, known := errors.AsType[*api.Error](err)
	if !ok || !known {
		return err
	}
	e := *refused
	e.Detail = at.Lines() + ": " + e.Detail
	return &e
}

// sink takes up the records of one import.
type sink struct {
	Target
	namespace string
	had       map[[16]byte]int // records that were there and that no line has met yet; nil: fresh has not looked yet

	exported string                // the namespace that was exported
	ids      map[string][][]string // by behavior: the pointers of its versions whose IDs follow from params
	rehash   bool
	rehashed int64
	foreign  int64             // tasks whose IDs follow from their params in the exported namespace, but not in this one
	renamed  map[string]string // tasks that were given other IDs, for their children
}

// Create makes the namespace, with the settings of the exported one, unless it exists.
func (s *sink) Create(ctx context.Context, exported *task.Namespace) error {
	s.exported = exported.Name
	for {
		_, err := s.Propose(ctx, task.ImportRecords{Namespace: s.namespace}) // says whether the namespace exists, and takes records
		if api.CodeOf(err) != string(task.NamespaceNotFound) {
			return err
		}
		_, err = s.Propose(ctx, task.PutNamespace{
			Name: s.namespace, Create: true, Quota: &exported.Quota, Retention: &exported.Retention,
			Share: &task.Share{Weight: exported.Weight, MaxRunning: exported.MaxRunning},
		})
		if api.CodeOf(err) != string(task.NamespaceTaken) { // somebody else has made it meanwhile
			return err
		}
	}
}

// Put implements archive.Sink.
func (s *sink) Put(ctx context.Context, digest string, bytes io.Reader) (stored bool, err error) {
	stored, err = s.Target.Put(ctx, digest, bytes)
	return stored, refused(err)
}

// Take implements archive.Sink.
func (s *sink) Take(ctx context.Context, c task.ImportRecords) (int64, error) {
	met, err := s.fresh(ctx, &c)
	if err != nil {
		return 0, err
	}
	if len(met) > 0 && len(c.Records) == 0 {
		return 0, nil
	}
	for _, b := range c.Behaviors {
		s.learn(b)
	}
	res, err := s.Propose(ctx, c)
	if err != nil {
		for _, k := range met { // these records will come again
			s.had[k]++
		}
	}
	return res.Count, refused(err)
}

// refused tells errors about the imported records from errors about the namespace, its quotas, or the cluster. After an error
// of the second kind no other record would be taken up either.
func refused(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status >= 500 || e.Status == http.StatusTooManyRequests {
		return err
	}
	switch e.Code {
	case string(task.NamespaceNotFound), string(task.NamespaceInactive), string(task.NamespacePurging), api.CodeNamespaceReserved, api.CodeQuotaExceeded, string(task.LevelTooLow):
		return err
	}
	return &archive.RefusedError{Err: err}
}

// fresh leaves out records of the TaskStore API that exist already. Records have no names by which to recognise them. So as
// many equal records as existed when the import began count as those of the file.
func (s *sink) fresh(ctx context.Context, c *task.ImportRecords) (met [][16]byte, err error) {
	if len(c.Records) == 0 {
		return nil, nil
	}
	if s.had == nil {
		state, err := s.Freeze(ctx)
		if err != nil {
			return nil, err
		}
		s.had = recordsOf(state, s.namespace)
	}
	var left []*task.StoreRecord
	for _, r := range c.Records {
		if k := contentOf(r); s.had[k] > 0 {
			s.had[k]--
			met = append(met, k)
		} else {
			left = append(left, r)
		}
	}
	c.Records = left
	return met, nil
}

func recordsOf(state *task.Frozen, namespace string) map[[16]byte]int {
	had := map[[16]byte]int{}
	for r := range state.Records {
		if x, ok := r.(*task.StoreRecord); ok && x.Namespace == namespace {
			had[contentOf(x)]++
		}
	}
	return had
}

// contentOf returns a hash of everything in a record except its ID.
func contentOf(r *task.StoreRecord) (sum [16]byte) {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, []int64{int64(len(r.Group)), r.Owner, int64(r.Available)}) // never fails
	_, _ = io.WriteString(h, r.Group)
	_, _ = io.WriteString(h, r.Data)
	if b := r.Blob.Blobs; b != nil {
		_, _ = io.WriteString(h, "\x00"+b.Content)
	}
	copy(sum[:], h.Sum(nil))
	return sum
}

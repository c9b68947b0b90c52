package runtime

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// `taskrt run` and plugins/plugintest run a module without a cluster. They share what this file has: what a node and
// a worker do before and after Module.Run.

// LocalAttempt returns an attempt, within a behavior's limits and timeouts, of a task that nobody submitted. It fills
// in what info does not say: a namespace, an ID, the first attempt.
func LocalAttempt(s *manifest.Settings, params []byte, info abi.TaskInfo) (Attempt, error) {
	if info.Namespace == "" {
		info.Namespace = "default"
	}
	if info.ID == "" {
		info.ID = "local"
	}
	info.Attempt = max(info.Attempt, 1)
	info.Token = max(info.Token, 1)
	info.Behavior, info.MaxAttempts = s.Name, s.MaxAttempts
	text, err := json.Marshal(info)
	return Attempt{
		Behavior: s.Index, Params: params, Info: text, Fuel: s.Fuel,
		MemoryBytes: s.MemoryBytes, ResultBytes: s.ResultBytes, CheckpointBytes: s.CheckpointBytes, LogBytes: s.LogBytes,
		RunTimeout: s.RunTimeout, HeartbeatTimeout: s.HeartbeatTimeout, ResultRequired: s.ResultRequired,
	}, err
}

// Judge makes of an outcome what a cluster makes of it. The behavior's policy decides whether errors of the host are
// retryable (SPEC R2). A result must match its schema; a success without a result has the result null (SPEC T7). A
// guest that does not end within the grace is cancelled all the same (SPEC L8).
func Judge(s *manifest.Settings, o Outcome) Outcome {
	switch {
	case o.Kind == Killed && errors.Is(o.Cause, ErrKilledCancel):
		o.Kind, o.Message = Cancelled, "did not end within the grace"
	case o.Kind == Succeeded && !o.HasResult:
		o.Result = []byte("null")
	}
	switch o.Class {
	case ClassTrap:
		o.Retryable = s.OnTrap != "fail"
	case ClassTimeout:
		o.Retryable = s.OnTimeout != "fail"
	case ClassExhausted:
		o.Retryable = s.OnExhausted == "retry"
	}
	if o.Kind != Succeeded {
		return o
	}
	if err := new(manifest.Schemas).Check(s.ResultSchema, o.Result); err != nil {
		o.Kind, o.Class, o.Code, o.Retryable = Failed, ClassGuest, CodeHandlerError, false
		o.Message = "the result does not match the behavior's result_schema: " + err.Error()
	}
	return o
}

// AnswerBlob answers abi.OpBlobSize and abi.OpBlobRead (Host.Call) from blobs that open finds by their digests, in
// lower-case hex; open returns nil if there is no such blob. Any other op is ErrDenied.
func AnswerBlob(op abi.Op, payload []byte, open func(digest string) *Source) (answer []byte, err error) {
	var q BlobRead
	switch op {
	case abi.OpBlobSize:
		q.Digest, err = ParseBlobName(string(payload))
	case abi.OpBlobRead:
		q, err = ParseBlobRead(payload)
	default:
		return nil, ErrDenied
	}
	if err != nil {
		return nil, err
	}
	b := open(q.Digest)
	switch {
	case b == nil:
		return nil, ErrNotFound
	case op == abi.OpBlobSize:
		return binary.LittleEndian.AppendUint64(nil, uint64(b.Size)), nil
	}
	return q.ReadBlob(b, b.Size)
}

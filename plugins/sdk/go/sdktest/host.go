package sdktest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

func (a *attempt) Len(ch abi.Channel) int32 {
	data, ok := a.in[ch]
	if !ok {
		return missing(ch)
	}
	return int32(len(data))
}

func (a *attempt) Read(ch abi.Channel, off int32, p []byte) int32 {
	data, ok := a.in[ch]
	if !ok {
		return missing(ch)
	}
	if off < 0 {
		return int32(abi.EINVAL)
	}
	return int32(copy(p, data[min(int(off), len(data)):]))
}

// missing is the status of an input channel that has nothing in it.
func missing(ch abi.Channel) int32 {
	if ch >= abi.Params && ch <= abi.Config {
		return int32(abi.ENOENT)
	}
	return int32(abi.ENOSYS)
}

func (a *attempt) Write(ch abi.Channel, p []byte) int32 {
	const maxDetail, maxNote, maxTime, maxManifest = 16 << 10, 4 << 10, 20, 1 << 20 // as package runtime has them
	var limit int
	replace := false
	switch ch {
	case abi.Result:
		limit = a.MaxResult
	case abi.ErrorDetail:
		limit = maxDetail
	case abi.Progress:
		limit, replace = maxNote, true
	case abi.Manifest:
		limit = maxManifest
	case abi.NextTime:
		limit = maxTime
	default:
		return int32(abi.ENOSYS)
	}
	old := a.out[ch]
	if replace {
		old = nil
	}
	if len(old)+len(p) > limit {
		return int32(abi.E2BIG)
	}
	a.out[ch] = append(slices.Clip(old), p...)
	if a.out[ch] == nil {
		a.out[ch] = []byte{} // an empty write is a write
	}
	if ch == abi.Progress {
		a.Notes = append(a.Notes, string(p))
	}
	return int32(len(p))
}

func (a *attempt) Log(level int32, msg []byte) {
	a.Logs = append(a.Logs, Log{sdk.Level(level), string(msg)})
}

func (a *attempt) Beat(done, total int64) int32 {
	a.Beats = append(a.Beats, Beat{done, total})
	a.now = a.now.Add(a.BeatTakes)
	if a.OnBeat != nil {
		a.signals = a.OnBeat(len(a.Beats))
	}
	return int32(a.signals)
}

func (a *attempt) Signals() int32 { return int32(a.signals) }

func (a *attempt) Clock(id int32) int64 {
	switch id {
	case abi.ClockWall:
		return a.now.UnixMilli()
	case abi.ClockDeadline:
		return max(0, (a.Timeout - a.now.Sub(a.start)).Milliseconds())
	case abi.ClockMonotonic:
		return int64(a.now.Sub(time.Unix(0, 0)))
	}
	return int64(abi.ENOSYS)
}

func (a *attempt) Call(op abi.Op, payload []byte) int32 {
	switch op {
	case abi.OpCheckpointSave:
		return a.save(bytes.Clone(payload))
	case abi.OpRandom:
		if len(payload) != 4 || binary.LittleEndian.Uint32(payload) > 65536 {
			return int32(abi.EINVAL)
		}
		response := make([]byte, binary.LittleEndian.Uint32(payload))
		_, _ = a.random.Read(response) // never fails
		return a.respond(response)
	case abi.OpBlobSize, abi.OpBlobRead:
		return a.readBlob(op, payload)
	case abi.OpPartitions:
		return a.page(payload)
	case abi.OpSpanBegin, abi.OpSpanEnd:
		return a.span(op, payload)
	}
	return int32(abi.ENOSYS)
}

func (a *attempt) respond(response []byte) int32 {
	a.in[abi.Response] = response
	return int32(len(response))
}

// readBlob answers a request for the size of a blob, or for bytes of it.
func (a *attempt) readBlob(op abi.Op, payload []byte) int32 {
	delete(a.in, abi.Response)
	if want := map[abi.Op]int{abi.OpBlobSize: abi.BlobName, abi.OpBlobRead: abi.BlobReadSize}[op]; len(payload) != want {
		return int32(abi.EINVAL)
	}
	blob, ok := a.Blobs[string(payload[:abi.BlobName])]
	if !ok {
		return int32(abi.ENOENT)
	}
	size := uint64(len(blob))
	if op == abi.OpBlobSize {
		return a.respond(binary.LittleEndian.AppendUint64(nil, size))
	}
	off, n := binary.LittleEndian.Uint64(payload[abi.BlobName:]), uint64(binary.LittleEndian.Uint32(payload[abi.BlobName+8:]))
	if n > abi.MaxResponse {
		return int32(abi.E2BIG)
	}
	off = min(off, size)
	return a.respond(bytes.Clone(blob[off : off+min(n, size-off)]))
}

// page answers op.partitions.
func (a *attempt) page(payload []byte) int32 {
	delete(a.in, abi.Response)
	var request struct{ From, Limit int }
	if json.Unmarshal(payload, &request) != nil || request.From < 0 || request.Limit < 0 {
		return int32(abi.EINVAL)
	}
	if a.Partitions == nil {
		return int32(abi.EDENIED)
	}
	text, err := Page(a.Partitions, int64(request.From))
	if err != nil {
		return int32(abi.EINVAL) // a result is not JSON
	}
	return a.respond(text)
}

// Page is a host's answer to op.partitions: partitions from index from on, but so few that a guest reads several pages, as it may
// have to. It returns an error if a result is not JSON.
func Page(all []Partition, from int64) ([]byte, error) {
	const most = 3
	from = min(from, int64(len(all)))
	to := min(from+most, int64(len(all)))
	page := struct {
		Partitions []Partition `json:"partitions"`
		Next       int64       `json:"next"`
	}{slices.Clone(all[from:to]), to}
	if to == int64(len(all)) {
		page.Next = -1
	}
	for i := range page.Partitions {
		page.Partitions[i].Index = from + int64(i)
	}
	return json.Marshal(page)
}

// save answers a checkpoint as the host would: durable, or a status.
func (a *attempt) save(data []byte) int32 {
	if data == nil {
		data = []byte{}
	}
	if a.OnSave != nil {
		if err := a.OnSave(data); err != nil {
			return int32(status(err))
		}
	}
	a.Saved = append(a.Saved, data)
	a.Checkpoint, a.in[abi.Checkpoint] = data, data
	return 0
}

// status is the abi.Errno that the SDK turns into err.
func status(err error) abi.Errno {
	switch {
	case errors.Is(err, sdk.ErrUnsupported):
		return abi.ENOSYS
	case errors.Is(err, sdk.ErrTooLarge):
		return abi.E2BIG
	case errors.Is(err, sdk.ErrUnavailable):
		return abi.EAGAIN
	case errors.Is(err, sdk.ErrDenied):
		return abi.EDENIED
	case errors.Is(err, sdk.ErrLeaseLost):
		return abi.ECONFLICT
	case errors.Is(err, sdk.ErrNotFound):
		return abi.ENOENT
	}
	return abi.EINVAL
}

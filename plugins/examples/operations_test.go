package examples_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// library is a recorder that has blobs, and the partitions of an operation.
type library struct {
	recorder
	blobs      map[string][]byte
	partitions []map[string]any
	read       int64 // bytes of blobs
}

func (l *library) add(content []byte) (name string) {
	if l.blobs == nil {
		l.blobs = map[string][]byte{}
	}
	name = abi.BlobPrefix + runtime.Digest(content)
	l.blobs[name] = content
	return name
}

func (l *library) Call(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
	if op == abi.OpPartitions {
		return json.Marshal(map[string]any{"partitions": l.partitions, "next": -1})
	}
	blob, ok := l.blobs[string(payload[:abi.BlobName])]
	if !ok {
		return nil, runtime.ErrNotFound
	}
	size := uint64(len(blob))
	if op == abi.OpBlobSize {
		return binary.LittleEndian.AppendUint64(nil, size), nil
	}
	off := min(binary.LittleEndian.Uint64(payload[abi.BlobName:]), size)
	n := min(uint64(binary.LittleEndian.Uint32(payload[abi.BlobName+8:])), size-off)
	l.read += int64(n)
	return blob[off : off+n], nil
}

// attempt runs a behavior of a module on a host.
func attempt(t *testing.T, m *runtime.Module, behavior string, index int32, a runtime.Attempt, h runtime.Host) runtime.Outcome {
	t.Helper()
	var err error
	if a.Info, err = json.Marshal(abi.TaskInfo{Behavior: behavior, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	a.Behavior = index
	return m.Run(t.Context(), a, h)
}

func partitionParams(name, arg string) []byte {
	return fmt.Appendf(nil, `{"operation":"op-1","partition":%q,"target":"orders","object":"x","arg":%s}`, name, arg)
}

// TestLargeFileInSmallMemory: a file of 12 MB is validated in 8 MB of memory, of which Go's runtime and the host's largest
// piece are the most.
func TestLargeFileInSmallMemory(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, read(t, "validate-table"))
	const rows = 1_000_000
	h := &library{}
	text := bytes.Repeat([]byte("1234\tOslo\t7\n"), rows)
	arg := fmt.Sprintf(`{"files":{"a":{"$blob":%q}},"columns":[{"name":"id","type":"int"},{"name":"city","type":"text"},{"name":"n","type":"int"}]}`, h.add(text))
	out := attempt(t, m, "validate-table", 0, runtime.Attempt{Params: partitionParams("a", arg), MemoryBytes: 8 << 20}, h)
	if out.Kind != runtime.Succeeded || string(out.Result) != fmt.Sprintf(`{"rows":%d}`, rows) {
		t.Errorf("%+v", out)
	}
	if h.read != int64(len(text)) {
		t.Errorf("%d bytes were read of %d", h.read, len(text))
	}
}

func TestBuildIndex(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, read(t, "build-index"))
	h := &library{}
	text := []byte(strings.Repeat("1\tOslo\n2\tJena\n", 20_000))
	arg := fmt.Sprintf(`{"files":{"a":{"$blob":%q}},"column":1,"checkpoint_rows":15000}`, h.add(text))
	a := runtime.Attempt{Params: partitionParams("a", arg), MemoryBytes: 64 << 20}
	h.onBeat = func(n int) abi.Signals {
		if n == 20 {
			return abi.SignalDraining
		}
		return 0
	}
	out := attempt(t, m, "build-index", 0, a, h)
	if out.Kind != runtime.Yielded || len(h.checkpoints) != 2 {
		t.Fatalf("%+v with %d checkpoints", out, len(h.checkpoints))
	}
	a.Checkpoint = h.checkpoints[1]
	out = attempt(t, m, "build-index", 0, a, h)
	var segment struct {
		Rows  int64
		Index map[string][]int64
		Runs  []struct{ Attempt, From int64 }
	}
	if err := json.Unmarshal(out.Result, &segment); err != nil || out.Kind != runtime.Succeeded {
		t.Fatalf("%+v: %v", out, err)
	}
	if oslo, jena := segment.Index["Oslo"], segment.Index["Jena"]; len(oslo) != 20_000 || len(jena) != 20_000 || oslo[19_999] != 14*19_999 || jena[7] != 14*7+7 {
		t.Errorf("%d and %d rows", len(oslo), len(jena))
	}
	if len(segment.Runs) != 2 || segment.Runs[1].From < 15_000 {
		t.Errorf("%+v", segment.Runs)
	}

	// The completion, with the segment as a blob.
	h.partitions = []map[string]any{{"index": 0, "partition": "a", "status": "SUCCESS", "blob": h.add(out.Result)}}
	before := h.read
	a = runtime.Attempt{Params: fmt.Appendf(nil, `{"operation":"op-1","success":true,"counts":{"success":1,"failure":0},"target":"orders","object":"x","arg":%s}`, arg)}
	h.onBeat, h.signals = nil, 0
	out = attempt(t, m, "build-index-complete", 1, a, h)
	if out.Kind != runtime.Succeeded || !strings.Contains(string(out.Result), `"rows":40000,"missing":0`) || h.read-before > 32<<10 {
		t.Errorf("%+v, %d bytes read", out, h.read-before)
	}
}

func TestWordCountOp(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, read(t, "word-count-op"))
	h := &library{}
	arg := fmt.Sprintf(`{"texts":[{"$blob":%q},"b c"],"parts":3}`, h.add([]byte(strings.Repeat("ab cd ", 50_000))))
	for i := range 3 {
		out := attempt(t, m, "word-count-op", 0, runtime.Attempt{Params: partitionParams(fmt.Sprint(i), arg)}, h)
		if out.Kind != runtime.Succeeded {
			t.Fatalf("%+v", out)
		}
		h.partitions = append(h.partitions, map[string]any{"index": i, "partition": fmt.Sprint(i), "status": "SUCCESS", "result": json.RawMessage(out.Result)})
	}
	params := fmt.Appendf(nil, `{"operation":"op-1","success":true,"counts":{"success":3,"failure":0},"target":"","object":"","arg":%s}`, arg)
	out := attempt(t, m, "word-count-op-reduce", 1, runtime.Attempt{Params: params}, h)
	if out.Kind != runtime.Succeeded || string(out.Result) != `{"words":{"ab":50000,"b":1,"c":1,"cd":50000},"total":100002}` {
		t.Errorf("%+v", out)
	}
}

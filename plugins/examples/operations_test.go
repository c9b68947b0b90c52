package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/plugins/plugintest"
)

func partitionParams(name, arg string) []byte {
	return fmt.Appendf(nil, `{"operation":"op-1","partition":%q,"target":"orders","object":"x","arg":%s}`, name, arg)
}

func completionParams(partitions int, target, object, arg string) []byte {
	return fmt.Appendf(nil, `{"operation":"op-1","success":true,"counts":{"success":%d,"failure":0},"target":%q,"object":%q,"arg":%s}`,
		partitions, target, object, arg)
}

// TestLargeFileInSmallMemory: a file of 12 MB is validated in 8 MB of memory, of which Go's runtime and the host's largest
// piece are the most.
func TestLargeFileInSmallMemory(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, "validate-table")
	const rows = 1_000_000
	h := &plugintest.Host{Limits: plugintest.Limits{Memory: 8 << 20}}
	text := bytes.Repeat([]byte("1234\tOslo\t7\n"), rows)
	h.Params = partitionParams("a", fmt.Sprintf(`{"files":{"a":{"$blob":%q}},"columns":[{"name":"id","type":"int"},{"name":"city","type":"text"},{"name":"n","type":"int"}]}`, h.AddBlob(text)))
	m.Run(t, "validate-table", h).WantResult(t, fmt.Sprintf(`{"rows":%d}`, rows))
	if h.BlobBytes != int64(len(text)) {
		t.Errorf("%d bytes were read of %d", h.BlobBytes, len(text))
	}
}

func TestBuildIndex(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, "build-index")
	h := &plugintest.Host{OnBeat: plugintest.AtBeat(20, plugintest.Draining)}
	text := []byte(strings.Repeat("1\tOslo\n2\tJena\n", 20_000))
	arg := fmt.Sprintf(`{"files":{"a":{"$blob":%q}},"column":1,"checkpoint_rows":15000}`, h.AddBlob(text))
	h.Params = partitionParams("a", arg)
	if r := m.Run(t, "build-index", h); r.Kind != plugintest.Yielded || len(h.Saved) != 2 {
		t.Fatalf("%v with %d checkpoints", r, len(h.Saved))
	}
	out := m.Run(t, "build-index", h)
	var segment struct {
		Rows  int64
		Index map[string][]int64
		Runs  []struct{ Attempt, From int64 }
	}
	out.Decode(t, &segment)
	if oslo, jena := segment.Index["Oslo"], segment.Index["Jena"]; len(oslo) != 20_000 || len(jena) != 20_000 || oslo[19_999] != 14*19_999 || jena[7] != 14*7+7 {
		t.Errorf("%d and %d rows", len(oslo), len(jena))
	}
	if len(segment.Runs) != 2 || segment.Runs[1].From < 15_000 {
		t.Errorf("%+v", segment.Runs)
	}

	// The completion, with the segment as a blob.
	c := &plugintest.Host{Blobs: h.Blobs}
	c.Partitions = []plugintest.Partition{{Partition: "a", Status: "SUCCESS", Blob: c.AddBlob(out.Result)}}
	c.Params = completionParams(1, "orders", "x", arg)
	if r := m.Run(t, "build-index-complete", c); r.Kind != plugintest.Succeeded || !strings.Contains(string(r.Result), `"rows":40000,"missing":0`) || c.BlobBytes > 32<<10 {
		t.Errorf("%v, %d bytes read", r, c.BlobBytes)
	}
}

func TestWordCountOp(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, "word-count-op")
	h := &plugintest.Host{}
	arg := fmt.Sprintf(`{"texts":[{"$blob":%q},"b c"],"parts":3}`, h.AddBlob([]byte(strings.Repeat("ab cd ", 50_000))))
	var done []plugintest.Partition
	for i := range 3 {
		h.Params = partitionParams(fmt.Sprint(i), arg)
		r := m.Run(t, "word-count-op", h)
		r.WantKind(t, plugintest.Succeeded)
		done = append(done, plugintest.Partition{Partition: fmt.Sprint(i), Status: "SUCCESS", Result: json.RawMessage(r.Result)})
	}
	h = &plugintest.Host{Blobs: h.Blobs, Partitions: done, Params: completionParams(3, "", "", arg)}
	m.Run(t, "word-count-op-reduce", h).WantResult(t, `{"words":{"ab":50000,"b":1,"c":1,"cd":50000},"total":100002}`)
}

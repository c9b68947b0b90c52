package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/leash"
)

// orders is a table: files of rows in a directory here, and as blobs in the cluster.
type orders struct {
	c     *cluster
	files map[string]string // name → text
	refs  json.RawMessage   // the member "files" of an argument
}

// tablegen makes a table and uploads its files, through all nodes in turn.
func (c *cluster) tablegen(args ...string) *orders {
	c.t.Helper()
	dir := c.t.TempDir()
	generate := leash.Command("go", append([]string{"run", "github.com/taskrt/taskrt/plugins/examples/tablegen", "-dir", dir}, args...)...)
	if out, err := generate.CombinedOutput(); err != nil {
		c.t.Fatalf("tablegen: %v\n%s", err, out)
	}
	refs, err := os.ReadFile(filepath.Join(dir, "files.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	o := &orders{c: c, files: map[string]string{}, refs: refs}
	var digests map[string]map[string]string
	if err := json.Unmarshal(refs, &digests); err != nil {
		c.t.Fatal(err)
	}
	for i, name := range slices.Sorted(maps.Keys(digests)) {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		o.files[name] = string(text)
		if digest := c.putBlob(i%3, path); digest != digests[name]["$blob"] {
			c.t.Fatalf("%s is %s, not %s", name, digest, digests[name])
		}
	}
	return o
}

// putBlob uploads a file by the command line, and returns its digest.
func (c *cluster) putBlob(node int, path string) string {
	c.t.Helper()
	out, err := leash.Command(binary, "blob", "put", path, "--server", c.urls()[node]).CombinedOutput()
	if err != nil {
		c.t.Fatalf("blob put %s: %v\n%s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}

// blob reads a blob, or a range of it ("bytes=7-9"; "": all).
func (c *cluster) blob(node int, digest, byteRange string) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.urls()[node]+"/v1/blobs/"+digest, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if byteRange != "" {
		req.Header.Set("Range", byteRange)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if want := map[bool]int{true: http.StatusOK, false: http.StatusPartialContent}[byteRange == ""]; resp.StatusCode != want {
		c.t.Fatalf("blob %s %s: %d %.300s", digest, byteRange, resp.StatusCode, data)
	}
	return data
}

// names are the table's partitions.
func (o *orders) names() []string { return slices.Sorted(maps.Keys(o.files)) }

// buildIndex is the request that indexes a column.
func (o *orders) buildIndex(id, object string, column int, more map[string]any) map[string]any {
	arg := map[string]any{"files": o.refs, "column": column}
	maps.Copy(arg, more)
	return map[string]any{"behavior": "build-index", "id": id, "target": "orders", "object": object, "partitions": o.names(), "arg": arg}
}

// validate is the request that checks the table.
func (o *orders) validate(id, target string) map[string]any {
	columns := json.RawMessage(`[{"name":"id","type":"int","min":1},{"name":"customer","type":"text","max_bytes":10},{"name":"city","type":"text","max_bytes":20},
		{"name":"cents","type":"int","min":-10000,"max":250000},{"name":"day","type":"int","min":0,"max":3652},{"name":"note","type":"text","optional":true}]`)
	return map[string]any{
		"behavior": "validate-table", "id": id, "target": target, "partitions": o.names(), "arg": map[string]any{"files": o.refs, "columns": columns},
	}
}

// index computes the index of a column of a file the plain way.
func (o *orders) index(name string, column int) (index map[string][]int64, rows int64) {
	index = map[string][]int64{}
	offset := int64(0)
	for line := range strings.Lines(o.files[name]) {
		value := strings.Split(strings.TrimSuffix(line, "\n"), "\t")[column]
		index[value] = append(index[value], offset)
		offset += int64(len(line))
		rows++
	}
	return index, rows
}

// segment is a part of an index that build-index made.
type segment struct {
	File  string
	Rows  int64
	Runs  []struct{ Attempt, From int64 }
	Index map[string][]int64
}

// checkIndex compares what an operation made with what the files say, and returns its segments.
func (o *orders) checkIndex(op operation, column int) map[string]segment {
	o.c.t.Helper()
	if op.Status != "SUCCESS" {
		o.c.t.Fatalf("%+v", op)
	}
	var made struct {
		Rows, Missing int64
		Segments      map[string]json.RawMessage
	}
	if err := json.Unmarshal(o.c.payload(op.Result), &made); err != nil {
		o.c.t.Fatal(err)
	}
	segments, total := map[string]segment{}, int64(0)
	for name := range o.files {
		var s segment
		if err := json.Unmarshal(o.c.payload(made.Segments[name]), &s); err != nil {
			o.c.t.Fatalf("%s: %v", name, err)
		}
		index, rows := o.index(name, column)
		if s.File != name || s.Rows != rows || !reflect.DeepEqual(s.Index, index) {
			o.c.t.Errorf("%s: the index of column %d has %d rows and %d values; want %d and %d, or their rows differ",
				name, column, s.Rows, len(s.Index), rows, len(index))
		}
		segments[name], total = s, total+rows
	}
	if made.Rows != total || made.Missing != 0 || len(made.Segments) != len(o.files) {
		o.c.t.Errorf("%d rows, %d missing, in %d segments; want %d rows", made.Rows, made.Missing, len(made.Segments), total)
	}
	return segments
}

// payload is JSON itself, or what it names as a blob.
func (c *cluster) payload(text json.RawMessage) []byte {
	c.t.Helper()
	var ref map[string]string
	if json.Unmarshal(text, &ref) == nil && len(ref) == 1 && ref["$blob"] != "" {
		return c.blob(slices.IndexFunc(c.nodes, (*process).running), ref["$blob"], "")
	}
	return text
}

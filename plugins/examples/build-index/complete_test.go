package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

const completion = `{"operation":"op-1","success":%v,"counts":{"waiting":0,"running":0,"retrying":0,"success":%d,"failure":%d},` +
	`"target":"orders","object":"by-city","arg":{"files":{%s},"column":1}}`

// completing is what the completion of an operation over so many files is given: some results are blobs, some are not.
func completing(t *testing.T, files int) (h *sdktest.Host, rows int64) {
	h = &sdktest.Host{Blobs: map[string][]byte{}}
	var names []string
	for i := range files {
		text := file(100 + i)
		rows += int64(100 + i)
		name := fmt.Sprintf("part-%03d.tsv", i)
		names = append(names, fmt.Sprintf(`%q:{"$blob":%q}`, name, sdktest.BlobName([]byte(text))))
		r := sdktest.Run(t, "build-index", partition(text, 1, ""))
		p := sdktest.Partition{Partition: name, Status: "SUCCESS"}
		if i%3 == 0 {
			p.Result = r.Result
		} else {
			p.Blob = sdktest.BlobName(r.Result)
			h.Blobs[p.Blob] = r.Result
		}
		h.Partitions = append(h.Partitions, p)
	}
	h.Params = fmt.Appendf(nil, completion, true, files, 0, strings.Join(names, ","))
	return h, rows
}

func TestComplete(t *testing.T) {
	h, rows := completing(t, 10)
	first := sdktest.Run(t, "build-index-complete", h)
	var got struct {
		Table, Index  string
		Column        int
		Rows, Missing int64
		Segments      map[string]json.RawMessage
	}
	if err := json.Unmarshal(first.Result, &got); err != nil || first.Outcome != abi.OutcomeOK {
		t.Fatalf("%v: %v", first, err)
	}
	if got.Table != "orders" || got.Index != "by-city" || got.Column != 1 || got.Rows != rows || got.Missing != 100 || len(got.Segments) != 10 {
		t.Errorf("%+v", got)
	}
	for _, p := range h.Partitions {
		want := string(p.Result)
		if p.Blob != "" {
			want = `{"$blob":"` + p.Blob + `"}`
		}
		if string(got.Segments[p.Partition]) != want {
			t.Errorf("%s: %.100s", p.Partition, got.Segments[p.Partition])
		}
	}
	if again := sdktest.Run(t, "build-index-complete", h); string(again.Result) != string(first.Result) {
		t.Error("run again, it gives something else")
	}
}

func TestNoIndexAfterCancel(t *testing.T) {
	h := &sdktest.Host{Params: fmt.Appendf(nil, completion, false, 1, 2, "")}
	if r := sdktest.Run(t, "build-index-complete", h); r.Outcome != abi.OutcomeOK || r.Result != nil {
		t.Error(r)
	}
}

func TestCompleteFails(t *testing.T) {
	h, _ := completing(t, 4)
	h.Params = fmt.Appendf(nil, completion, true, 4, 0, `"part-000.tsv":{}`)
	if r := sdktest.Run(t, "build-index-complete", h); r.Outcome != abi.OutcomePermanent || r.Code != "bad_partitions" {
		t.Error(r)
	}
	h, _ = completing(t, 4)
	delete(h.Blobs, h.Partitions[1].Blob)
	if r := sdktest.Run(t, "build-index-complete", h); r.Outcome != abi.OutcomeRetryable || r.Code != "unreadable" {
		t.Error(r)
	}
	h, _ = completing(t, 4)
	h.Partitions[0].Result = []byte(`{"rows":1}`)
	if r := sdktest.Run(t, "build-index-complete", h); r.Outcome != abi.OutcomePermanent || r.Code != "bad_segment" {
		t.Error(r)
	}
	h, _ = completing(t, 4)
	h.Partitions = nil
	if r := sdktest.Run(t, "build-index-complete", h); r.Outcome != abi.OutcomeRetryable {
		t.Error(r)
	}
}

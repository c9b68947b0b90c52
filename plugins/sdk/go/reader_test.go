package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// long is more than one request of a blob's bytes may bring.
func long() []byte {
	data := make([]byte, 2*abi.MaxResponse+12345)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return data
}

// TestReaders holds each kind of reader against the standard library's idea of one.
func TestReaders(t *testing.T) {
	data := long()
	name := sdktest.BlobName(data)
	readers := map[string]func(*sdk.Context) *sdk.Reader{
		"params": func(c *sdk.Context) *sdk.Reader { return c.ParamsReader() },
		"checkpoint": func(c *sdk.Context) *sdk.Reader {
			r, ok := c.CheckpointReader()
			if !ok {
				t.Error("there is no checkpoint")
			}
			return r
		},
		"blob": func(c *sdk.Context) *sdk.Reader {
			r, err := c.Blob(name)
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
	}
	for what, open := range readers {
		t.Run(what, func(t *testing.T) {
			run(t, &sdktest.Host{Params: data, Checkpoint: data, Blobs: map[string][]byte{name: data}}, func(c *sdk.Context) error {
				r := open(c)
				if r.Size() != int64(len(data)) {
					t.Errorf("size %d, want %d", r.Size(), len(data))
				}
				whole := make([]byte, len(data)) // in one read, which takes several requests
				if n, err := r.ReadAt(whole, 0); n != len(data) || err != nil || !bytes.Equal(whole, data) {
					t.Errorf("read %d bytes, %v; equal: %t", n, err, bytes.Equal(whole, data))
				}
				tail := int64(len(data) - 1000)
				if err := iotest.TestReader(io.NewSectionReader(r, tail, 1000), data[tail:]); err != nil {
					t.Error(err)
				}
				if at, err := r.Seek(-1000, io.SeekEnd); at != tail || err != nil {
					t.Errorf("seek to %d, %v", at, err)
				}
				if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, data[tail:]) {
					t.Errorf("%d bytes, %v", len(rest), err)
				}
				if _, err := r.Seek(-1, io.SeekStart); !errors.Is(err, sdk.ErrInvalid) {
					t.Errorf("seek before the start: %v", err)
				}
				return nil
			})
		})
	}
}

func TestNothingToRead(t *testing.T) {
	run(t, &sdktest.Host{}, func(c *sdk.Context) error {
		if _, ok := c.CheckpointReader(); ok {
			t.Error("a checkpoint from nowhere")
		}
		if n, err := c.ParamsReader().Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes of no params, %v", n, err)
		}
		if _, err := c.Blob(sdktest.BlobName([]byte("unknown"))); !errors.Is(err, sdk.ErrNotFound) {
			t.Errorf("an unknown blob: %v", err)
		}
		if _, err := c.Blob("sha256:short"); !errors.Is(err, sdk.ErrInvalid) {
			t.Errorf("a bad name: %v", err)
		}
		return nil
	})
}

func TestBlobRef(t *testing.T) {
	name := sdktest.BlobName([]byte("content"))
	var params struct {
		Table sdk.BlobRef `json:"table"`
	}
	if err := json.Unmarshal([]byte(`{"table":{"$blob":"`+name+`"}}`), &params); err != nil || params.Table.Name != name {
		t.Errorf("%v, %v", params, err)
	}
}

func TestPartitions(t *testing.T) {
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	h := &sdktest.Host{Partitions: []sdktest.Partition{
		{Partition: "a", Status: "SUCCESS", Result: json.RawMessage(`{"n":1}`)},
		{Partition: "b", Status: "SUCCESS", ResultBase64: []byte("\xff\x00any")},
		{Partition: "c", Status: "SUCCESS", Blob: sdktest.BlobName(nil)},
		{Partition: "d", Status: "FAILURE", Error: &sdktest.PartitionError{Code: "bad", Message: "row \"7\"", Retryable: true}},
		{Partition: "e", Status: "SUCCESS", Result: json.RawMessage(deep)},
		{Partition: "f", Status: "SUCCESS"},
		{Partition: "g", Status: "FAILURE", Error: &sdktest.PartitionError{Code: "CANCELLED"}},
	}}
	run(t, h, func(c *sdk.Context) error {
		var got []sdk.Partition
		for p, err := range c.Partitions(0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		if len(got) != len(h.Partitions) {
			t.Fatalf("%d partitions of %d", len(got), len(h.Partitions))
		}
		for i, want := range h.Partitions {
			p := got[i]
			result, binary := string(want.Result), false
			if want.ResultBase64 != nil {
				result, binary = string(want.ResultBase64), true
			}
			if p.Index != int64(i) || p.Name != want.Partition || p.Status != want.Status || p.Blob != want.Blob || string(p.Result) != result || p.Binary != binary {
				t.Errorf("got %+v, want %+v", p, want)
			}
			if (p.Error == nil) != (want.Error == nil) || p.Error != nil && *p.Error != sdk.PartitionError(*want.Error) {
				t.Errorf("error %+v, want %+v", p.Error, want.Error)
			}
		}
		for p, err := range c.Partitions(5) {
			if err != nil || p.Name != "f" {
				t.Errorf("from 5: %+v, %v", p, err)
			}
			break
		}
		return nil
	})
	run(t, &sdktest.Host{}, func(c *sdk.Context) error {
		n := 0
		for _, err := range c.Partitions(0) {
			if n++; !errors.Is(err, sdk.ErrDenied) || n > 1 {
				t.Errorf("a task without an operation: %v", err)
			}
		}
		return nil
	})
}

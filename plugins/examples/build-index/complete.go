package main

import (
	"bytes"

	"github.com/taskrt/taskrt/plugins/examples/table"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// complete makes the index of the table: it joins the indexes of the files, and says where each of them is. It may run more than
// once, and gives the same each time. After a cancel there is no index.
func complete(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil || !t.Success {
		return err
	}
	arg, err := tinyjson.Parse(t.Arg)
	if err != nil {
		return sdk.Fail("bad_params", "arg: "+err.Error())
	}
	if files, _ := arg.Get("files"); int64(len(files.Keys())) != t.Succeeded {
		return sdk.Fail("bad_partitions", `the operation must have one partition for each of the argument's "files"`)
	}
	var total counts
	segments := []byte{'{'}
	for p, err := range c.Partitions(0) {
		if err != nil {
			return table.Unreadable("the partitions", err)
		}
		if c.Heartbeat(p.Index, t.Succeeded).Cancelled() {
			return sdk.ErrCancelled
		}
		text, err := head(c, &p)
		if err != nil {
			return err
		}
		if err := total.add(p.Name, text); err != nil {
			return err
		}
		segments = append(tinyjson.AppendMember(segments, p.Name), segment(&p)...)
	}
	column, _ := arg.Get("column")
	n, _ := column.Int64()
	buf := tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "table"), t.Target)
	buf = tinyjson.AppendString(tinyjson.AppendMember(buf, "index"), t.Object)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "column"), n)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "rows"), total.rows)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "missing"), total.missing)
	buf = append(append(tinyjson.AppendMember(buf, "segments"), segments...), "}}"...)
	c.SetResult(buf)
	return nil
}

// segment is a partition's result as a part of another JSON text: itself, or as the blob that it is.
func segment(p *sdk.Partition) []byte {
	if p.Blob == "" {
		return p.Result
	}
	return append(tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "$blob"), p.Blob), '}')
}

// maxHead bounds the part of a segment before its index: a file's name, numbers, maxRuns runs.
const maxHead = 16 << 10

// head returns the part of a segment before its index, as JSON of its own.
func head(c *sdk.Context, p *sdk.Partition) ([]byte, error) {
	text := p.Result
	if p.Blob != "" {
		r, err := c.Blob(p.Blob)
		if err != nil {
			return nil, table.Unreadable(p.Name, err)
		}
		text = make([]byte, min(maxHead, r.Size()))
		if _, err := r.ReadAt(text, 0); err != nil {
			return nil, table.Unreadable(p.Name, err)
		}
	}
	end := bytes.Index(text, []byte(`,"index":{`))
	if end < 0 {
		return nil, sdk.Fail("bad_segment", p.Name+": no index is in it")
	}
	return append(bytes.Clone(text[:end]), '}'), nil
}

// counts are the sums of the counts in the segments.
type counts struct{ rows, missing int64 }

func (n *counts) add(file string, head []byte) error {
	v, err := tinyjson.Parse(head)
	if err != nil {
		return sdk.Fail("bad_segment", file+": "+err.Error())
	}
	member, _ := v.Get("rows")
	rows, ok1 := member.Int64()
	member, _ = v.Get("missing")
	missing, ok2 := member.Int64()
	if !ok1 || !ok2 {
		return sdk.Fail("bad_segment", file+": no rows are counted in it")
	}
	n.rows += rows
	n.missing += missing
	return nil
}

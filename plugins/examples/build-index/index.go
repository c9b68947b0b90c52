package main

import (
	"slices"

	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// index is the index of one column of one file, as far as it is built: for every value, where the rows with this value begin.
type index struct {
	end     int64 // bytes of the file that are done
	rows    int64
	missing int64 // rows that have no such column
	entries map[string]*entry
	runs    []run // attempts that went on from here
}

// entry lists offsets as the differences between them, each a varint: two or three bytes a row.
type entry struct {
	rows   int64
	last   int64
	deltas []byte
}

// run says with which row an attempt began.
type run struct{ attempt, from int64 }

func (x *index) add(value []byte, offset int64) {
	e := x.entries[string(value)]
	if e == nil {
		e = &entry{}
		x.entries[string(value)] = e
	}
	e.deltas = appendUvarint(e.deltas, uint64(offset-e.last))
	e.rows++
	e.last = offset
}

// values returns what the column holds, in order.
func (x *index) values() []string {
	values := make([]string, 0, len(x.entries))
	for v := range x.entries { // order-free: sorted below
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

// segment is the finished index as JSON. The counts come before the index itself, so that the completion need not read the index:
// see head.
func (x *index) segment(file string) []byte {
	buf := tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "file"), file)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "rows"), x.rows)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "values"), int64(len(x.entries)))
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "missing"), x.missing)
	buf = append(tinyjson.AppendMember(buf, "runs"), '[')
	for i, r := range x.runs {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = tinyjson.AppendInt(tinyjson.AppendMember(append(buf, '{'), "attempt"), r.attempt)
		buf = append(tinyjson.AppendInt(tinyjson.AppendMember(buf, "from"), r.from), '}')
	}
	buf = append(tinyjson.AppendMember(append(buf, ']'), "index"), '{')
	for _, v := range x.values() {
		buf = x.entries[v].append(append(tinyjson.AppendMember(buf, v), '['))
	}
	return append(buf, "}}"...)
}

// append appends the offsets and the closing bracket.
func (e *entry) append(buf []byte) []byte {
	deltas, offset := decoder{text: e.deltas}, int64(0)
	for i := range e.rows {
		if i > 0 {
			buf = append(buf, ',')
		}
		offset += deltas.number()
		buf = tinyjson.AppendInt(buf, offset)
	}
	return append(buf, ']')
}

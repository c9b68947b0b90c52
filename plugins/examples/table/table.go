// Package table is what the examples mean by a table: files of rows. A row is a line, and its fields are separated by tabs;
// there is no header and no quoting. Each file is a blob, and one partition of an operation on the table.
package table

import (
	"bytes"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// FilesSchema is the JSON Schema of the member "files" of an operation's argument: {"part-000.tsv":{"$blob":"sha256:…"}}.
const FilesSchema = `{"type":"object","minProperties":1,"additionalProperties":{"type":"object","required":["$blob"],` +
	`"properties":{"$blob":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"}},"additionalProperties":false}}`

// MaxFields bounds the fields of a row.
const MaxFields = 64

// Open opens the file with the name of the partition. arg is the operation's argument, parsed.
func Open(c *sdk.Context, arg tinyjson.Value, partition string) (*sdk.Reader, error) {
	files, _ := arg.Get("files")
	file, ok := files.Get(partition)
	if !ok {
		return nil, sdk.Fail("no_file", `the argument's "files" have none of the partition's name, `+partition)
	}
	name, ok := sdk.BlobName(file)
	if !ok {
		return nil, sdk.Fail("bad_params", "arg.files."+partition+` must be {"$blob":"sha256:…"}`)
	}
	r, err := c.Blob(name)
	if err != nil {
		return nil, Unreadable(partition, err)
	}
	return r, nil
}

// Unreadable is the failure for a file that cannot be read now. Another node may be able to read it, or this node at a later time.
func Unreadable(file string, err error) error {
	return sdk.Retryable("unreadable", file+": "+err.Error())
}

// Cut returns the first field of a row, and the rest behind it, if there are more fields.
func Cut(row []byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(row, '\t'); i >= 0 {
		return row[:i], row[i+1:], true
	}
	return row, nil, false
}

// Field returns field n = 0, 1, … of a row; false if the row has no field n.
func Field(row []byte, n int) (field []byte, ok bool) {
	more := true
	for range n + 1 {
		if !more {
			return nil, false
		}
		field, row, more = Cut(row)
	}
	return field, true
}

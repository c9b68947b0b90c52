package main

import (
	"io"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// source is a text that can be read anywhere.
type source interface {
	io.ReaderAt
	Size() int64
}

var (
	_ source = (*sdk.Reader)(nil)
	_ source = inline("")
)

// inline is a text that stands in the argument.
type inline string

func (s inline) Size() int64 { return int64(len(s)) }

func (s inline) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, s[min(off, s.Size()):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// open opens the texts, and adds up their lengths.
func open(c *sdk.Context, values []tinyjson.Value) (texts []source, total int64, err error) {
	for _, v := range values {
		text, err := openOne(c, v)
		if err != nil {
			return nil, 0, err
		}
		texts = append(texts, text)
		total += text.Size()
	}
	return texts, total, nil
}

func openOne(c *sdk.Context, v tinyjson.Value) (source, error) {
	if s, ok := v.Str(); ok {
		return inline(s), nil
	}
	name, ok := sdk.BlobName(v)
	if !ok {
		return nil, sdk.Fail("bad_params", `arg.texts: each is a string or {"$blob":"sha256:…"}`)
	}
	r, err := c.Blob(name)
	if err != nil {
		return nil, sdk.Retryable("unreadable", name+": "+err.Error())
	}
	return r, nil
}

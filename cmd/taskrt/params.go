package main

import (
	"bytes"
	"encoding/json"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
)

// paramsFlag is a flag of input.Params.
func paramsFlag(cmd string) cli.Flag {
	return stringFlag(cmd, "params", "", "JSON, or @FILE, or - for standard input")
}

func paramsBytesFlag(cmd string) cli.Flag {
	return stringFlag(cmd, "params-bytes", "", "FILE, or - for standard input: params of any bytes, JSON or not, as they are")
}

// maxInline is how many bytes of params travel in the body of a request. A body may have api.MaxBody, and params may
// be in base64 there. Longer params are put as a blob first; whoever submits need not know (SPEC H3).
const maxInline = 4 << 20

// params reads --params or --params-bytes for a request. Long params are put as a blob, to which text then refers.
func (c *client) params(flags *cli.Context) (text json.RawMessage, raw []byte, err error) {
	text, raw, err = input.Params(flags, c.stdin)
	content := text
	if raw != nil {
		content = raw
	}
	if err != nil || len(content) <= maxInline {
		return text, raw, err
	}
	stop := show.Sending(c.stderr, &c.sent, "params", int64(len(content)))
	defer stop()
	b, err := c.PutBlob(c.ctx, api.PutBlobRequest{Body: bytes.NewReader(content), Size: int64(len(content))})
	if err != nil {
		return nil, nil, err
	}
	return json.RawMessage(`{"$blob":"` + b.Digest + `"}`), nil, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
)

// paramsFlag is a flag of readParams.
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
	text, raw, err = readParams(flags, c.stdin)
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

// readParams reads --params or --params-bytes.
func readParams(c *cli.Context, stdin io.Reader) (text json.RawMessage, raw []byte, err error) {
	file := c.String("params-bytes")
	switch {
	case file == "":
		text, err = readJSON(c, "params", stdin, api.MaxPayload)
		return text, nil, err
	case c.String("params") != "":
		return nil, nil, usagef(c, "--params and --params-bytes are both given")
	case file != "-":
		file = "@" + file
	}
	if raw, err = readText(c, "--params-bytes", file, stdin, api.MaxPayload); raw == nil {
		raw = []byte{}
	}
	return nil, raw, err
}

// readJSON reads a flag that is JSON of at most limit bytes, @FILE or - (standard input); nil if the flag is not
// given. A byte order mark at the beginning of a file does not belong to the JSON (RFC 8259, section 8.1).
func readJSON(c *cli.Context, flag string, stdin io.Reader, limit int) (json.RawMessage, error) {
	s := c.String(flag)
	if s == "" {
		return nil, nil
	}
	text, err := readText(c, "--"+flag, s, stdin, limit)
	if err != nil {
		return nil, err
	}
	from := "standard input"
	switch {
	case s == "-":
	case s[0] == '@':
		from = s[1:]
	default:
		if !json.Valid(text) {
			return nil, usagef(c, "--%s is not JSON; strings need quotes inside the shell's: '\"text\"'", flag)
		}
		return text, nil
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := input.WhyNotJSON(text); err != nil {
		return nil, usagef(c, "--%s: %s is not JSON: %w", flag, from, err)
	}
	return text, nil
}

// readText is input.Text for the value of a flag, or of an argument.
func readText(c *cli.Context, what, s string, stdin io.Reader, limit int) ([]byte, error) {
	text, err := input.Text(s, stdin, limit)
	switch {
	case errors.Is(err, input.ErrTooLong):
		return nil, exit.With(exit.Refused, fmt.Errorf("%s: more than %d bytes, the most that it may have", what, limit))
	case err != nil:
		return nil, usagef(c, "%s: %w", what, err)
	}
	return text, nil
}

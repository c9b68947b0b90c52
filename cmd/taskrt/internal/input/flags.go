package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
)

// Params reads --params or --params-bytes.
func Params(c *cli.Context, stdin io.Reader) (text json.RawMessage, raw []byte, err error) {
	file := c.String("params-bytes")
	switch {
	case file == "":
		text, err = JSON(c, "params", stdin, api.MaxPayload)
		return text, nil, err
	case c.String("params") != "":
		return nil, nil, cmdline.Usagef(c, "--params and --params-bytes are both given")
	case file != "-":
		file = "@" + file
	}
	if raw, err = Of(c, "--params-bytes", file, stdin, api.MaxPayload); raw == nil {
		raw = []byte{}
	}
	return nil, raw, err
}

// JSON reads a flag that is JSON of at most limit bytes, @FILE or - (standard input); nil if the flag is not
// given. A byte order mark at the beginning of a file does not belong to the JSON (RFC 8259, section 8.1).
func JSON(c *cli.Context, flag string, stdin io.Reader, limit int) (json.RawMessage, error) {
	s := c.String(flag)
	if s == "" {
		return nil, nil
	}
	text, err := Of(c, "--"+flag, s, stdin, limit)
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
			return nil, cmdline.Usagef(c, "--%s is not JSON; strings need quotes inside the shell's: '\"text\"'", flag)
		}
		return text, nil
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := WhyNotJSON(text); err != nil {
		return nil, cmdline.Usagef(c, "--%s: %s is not JSON: %w", flag, from, err)
	}
	return text, nil
}

// Of is Text for the value of a flag, or of an argument.
func Of(c *cli.Context, what, s string, stdin io.Reader, limit int) ([]byte, error) {
	text, err := Text(s, stdin, limit)
	switch {
	case errors.Is(err, ErrTooLong):
		return nil, exit.With(exit.Refused, fmt.Errorf("%s: more than %d bytes, the most that it may have", what, limit))
	case err != nil:
		return nil, cmdline.Usagef(c, "%s: %w", what, err)
	}
	return text, nil
}

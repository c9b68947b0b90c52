// Package sdkjson gives behaviors typed params and results by encoding/json. It makes a guest about 1.5 MB larger;
// package tinyjson does not. Where sdkjson is linked, it also writes the params of children (package tasks).
package sdkjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
)

func init() { host.MarshalJSON = json.Marshal }

// CodeBadParams is the code of the failure of a task whose params do not decode.
const CodeBadParams = "bad_params"

// Handler makes a Behavior.Run of a function with typed params and result. Params that do not decode into P, or have
// fields that P does not have, fail the task for good with CodeBadParams. A task without params gets the zero P.
func Handler[P, R any](f func(*sdk.Context, P) (R, error)) func(*sdk.Context) error {
	return func(c *sdk.Context) error {
		var params P
		if text := c.Params(); len(text) > 0 {
			if err := decode(text, &params); err != nil {
				return sdk.Fail(CodeBadParams, err.Error())
			}
		}
		result, err := f(c, params)
		if err != nil {
			return err
		}
		return SetResult(c, result)
	}
}

// SetResult sets v as the task's result.
func SetResult(c *sdk.Context, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return sdk.Permanent(err)
	}
	c.SetResult(text)
	return nil
}

// Checkpoint decodes the last checkpoint into v. If there is none, or it does not decode, it returns false and leaves v as it was:
// a checkpoint of an older version of the plugin counts as none.
func Checkpoint[T any](c *sdk.Context, v *T) bool {
	text, ok := c.Checkpoint()
	if !ok {
		return false
	}
	var read T
	if decode(text, &read) != nil {
		return false
	}
	*v = read
	return true
}

// SaveCheckpoint saves v as the checkpoint.
func SaveCheckpoint(c *sdk.Context, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return sdk.Permanent(err)
	}
	return c.SaveCheckpoint(text)
}

// decode does what json.Unmarshal does, but refuses unknown fields.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("json: text after the value")
	}
	return nil
}

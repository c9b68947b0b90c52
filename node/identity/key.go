package identity

import (
	"encoding/json"
	"errors"

	"github.com/gowebpki/jcs"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/jsontext"
	"github.com/taskrt/taskrt/task"
)

// maxConcurrencyKey bounds the value of a concurrency key in bytes (SPEC L11).
const maxConcurrencyKey = 256

// ConcurrencyKey computes the key of params (SPEC L11): what the behavior's JSON pointer finds in them, or "" if it
// finds nothing. A string becomes a quote and itself, any other value its canonical JSON (RFC 8785): "1" and 1 are two
// keys, 1 and 1.0 are one. Params that are not JSON have no key.
func ConcurrencyKey(p *task.Policy, params task.Payload) (string, error) {
	if p.ConcurrencyKey == "" || params.Encoding != task.JSON {
		return "", nil
	}
	field := "params" + p.ConcurrencyKey
	value, err := pick(params.Data, p.ConcurrencyKey)
	if errors.Is(err, errNothingThere) {
		return "", nil
	}
	var key string
	if err == nil {
		key, err = keyText(value)
	}
	if err != nil {
		return "", api.FieldError(api.CodeInvalidParams, field, "the behavior limits runs by it: %v", err)
	}
	size := len(key)
	if key[0] == '"' {
		size--
	}
	if size > maxConcurrencyKey {
		e := api.FieldError(api.CodeInvalidParams, field, "the behavior limits runs by it: %d bytes, at most %d", size, maxConcurrencyKey)
		e.Limit = maxConcurrencyKey
		return "", e
	}
	return key, nil
}

func keyText(value []byte) (string, error) {
	if value[0] == '"' {
		if jsontext.LoneSurrogate(value) { // two such strings would be one key
			return "", errors.New("it has a lone surrogate: half of a character")
		}
		var s string
		err := json.Unmarshal(value, &s)
		return `"` + s, err
	}
	if err := checkNumbers(value); err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(value)
	return string(canonical), err
}

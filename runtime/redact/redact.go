// Package redact takes secrets out of JSON, in which they may stand escaped (SPEC B6).
package redact

import (
	"bytes"
	"encoding/json"
)

// JSON returns text with hide applied to each name, string and number of it; what is no JSON is hidden as it stands.
func JSON(text []byte, hide func([]byte) []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return hide(text)
	}
	hidden, err := json.Marshal(hideIn(v, hide))
	if err != nil {
		return hide(text)
	}
	return hidden
}

func hideIn(v any, hide func([]byte) []byte) any {
	switch v := v.(type) {
	case string:
		return string(hide([]byte(v)))
	case json.Number: // a secret of digits
		if text := string(hide([]byte(v))); text != string(v) {
			return text
		}
	case []any:
		for i := range v {
			v[i] = hideIn(v[i], hide)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v { // order-free: another map
			clean[string(hide([]byte(name)))] = hideIn(member, hide)
		}
		return clean
	}
	return v
}

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taskrt/taskrt/internal/jsontext"
)

// maxDepth bounds the nesting of a manifest, schemas included.
const maxDepth = 64

// decodeJSON reads one JSON value into maps, slices, strings, json.Numbers and bools. It refuses what encoding/json
// accepts: a key that stands twice, anything behind the value, endless nesting, halves of characters.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, badManifest("", "there is more behind the JSON value")
	}
	if jsontext.LoneSurrogate(data) { // which encoding/json replaces
		return nil, badManifest(loneSurrogateAt(data, ""), "has a lone surrogate: half of a character")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, badManifest(path, "nested deeper than %d levels", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, notJSON(path, dec, err)
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := dec.Token(); err != nil {
			return nil, notJSON(path, dec, err)
		}
		return list, nil
	case json.Delim('{'):
		return decodeObject(dec, path, depth)
	}
	return tok, nil
}

func decodeObject(dec *json.Decoder, path string, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, notJSON(path, dec, err)
		}
		key, ok := tok.(string)
		if !ok {
			return nil, badManifest(path, "an object's key is not a string")
		}
		at := under(path, key)
		if _, twice := object[key]; twice {
			return nil, badManifest(at, "stands twice")
		}
		if object[key], err = decodeValue(dec, at, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(path, dec, err)
	}
	return object, nil
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func notJSON(path string, dec *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badManifest(path, "not valid JSON: it ends too early")
	}
	return badManifest(path, "not valid JSON at byte %d: %v", dec.InputOffset(), err)
}

// compact writes JSON without space. Keys of maps are sorted; <, > and & stay as they are.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// loneSurrogateAt finds the text of a JSON value that has a lone surrogate, or the object's member whose name has one.
func loneSurrogateAt(data []byte, path string) string {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(data, &object) == nil:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if jsontext.LoneSurrogate(object[name]) {
				return loneSurrogateAt(object[name], under(path, name))
			}
		}
		for name := range object { // the half became this character when it was read
			if strings.ContainsRune(name, utf8.RuneError) {
				return under(path, name)
			}
		}
	case json.Unmarshal(data, &list) == nil:
		for i, value := range list {
			if jsontext.LoneSurrogate(value) {
				return loneSurrogateAt(value, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	return path
}

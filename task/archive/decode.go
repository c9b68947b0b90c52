package archive

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/jsontext"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/blobs"
)

// decode reads into v a value that encoder wrote. Its error names the wrong value by its path.
func (f *forms) decode(b json.RawMessage, v reflect.Value, path string) *Error {
	t := v.Type()
	switch {
	case t == payloadType:
		p, err := decodePayload(b, path)
		v.Set(reflect.ValueOf(p))
		return err
	case t == timeType:
		return decodeTime(b, v, path)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return f.decode(b, v.Elem(), path)
	case t.Kind() == reflect.Struct:
		return f.object(b, v, path)
	case t.Kind() == reflect.Slice && t != bytesType:
		var parts []json.RawMessage
		if err := json.Unmarshal(b, &parts); err != nil {
			return wrong(path, err)
		}
		v.Set(reflect.MakeSlice(t, len(parts), len(parts)))
		for i, part := range parts {
			if err := f.decode(part, v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if words := wordsOf(t); words != nil {
		var word string
		if err := json.Unmarshal(b, &word); err != nil {
			return wrong(path, err)
		}
		i := slices.Index(words, word)
		if i < 0 || word == "" {
			return &Error{Field: path, Reason: fmt.Sprintf("%.80q is not one of %s", word, strings.TrimSpace(strings.Join(words, " ")))}
		}
		v.SetUint(uint64(i))
		return nil
	}
	if string(b) == "null" {
		return &Error{Field: path, Reason: "must not be null"}
	}
	if jsontext.LoneSurrogate(b) {
		return &Error{Field: path, Reason: "has a lone surrogate: half of a character"}
	}
	if err := json.Unmarshal(b, v.Addr().Interface()); err != nil {
		return wrong(path, err)
	}
	return nil
}

func wrong(path string, err error) *Error { return &Error{Field: path, Reason: err.Error()} }

func (f *forms) object(b json.RawMessage, v reflect.Value, path string) *Error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return wrong(path, err)
	}
	if members == nil {
		return &Error{Field: path, Reason: "must be an object"}
	}
	for _, field := range f.of(v.Type()) {
		given, ok := members[field.name]
		if !ok {
			continue
		}
		delete(members, field.name)
		if err := f.decode(given, v.Field(field.index), path+"."+field.name); err != nil {
			return err
		}
	}
	for name := range members {
		return &Error{Field: path + "." + name, Reason: "there is no such field"}
	}
	return nil
}

func decodeTime(b json.RawMessage, v reflect.Value, path string) *Error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		var n int64
		if err := json.Unmarshal(b, &n); err != nil {
			return wrong(path, err)
		}
		v.SetInt(n)
		return nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return wrong(path, err)
	}
	v.SetInt(t.UnixMilli())
	return nil
}

func decodePayload(b json.RawMessage, path string) (p task.Payload, bad *Error) {
	var members struct {
		JSON     json.RawMessage `json:"json"`
		JSONText []byte          `json:"json_text"`
		Bytes    []byte          `json:"bytes"`
		Blob     string          `json:"blob"`
		Size     int64           `json:"size"`
		Encoding string          `json:"encoding"`
		Names    []string        `json:"names"`
	}
	if err := json.Unmarshal(b, &members); err != nil {
		return p, wrong(path, err)
	}
	switch {
	case members.Blob != "":
		p.Encoding = task.Bytes
		if members.Encoding == memberJSON {
			p.Encoding = task.JSON
		}
		if members.Size < 0 {
			return p, &Error{Field: path + ".size", Reason: "is negative"}
		}
		p.Blobs = &task.Blobs{Size: members.Size}
		p.Blobs.Content, bad = decodeDigest(members.Blob, path+".blob")
	case members.JSON != nil:
		p.Encoding, p.Data = task.JSON, members.JSON
	case members.JSONText != nil:
		if !json.Valid(members.JSONText) {
			return p, &Error{Field: path + ".json_text", Reason: "is not JSON"}
		}
		p.Encoding, p.Data = task.JSON, members.JSONText
	case members.Bytes != nil:
		p.Encoding, p.Data = task.Bytes, members.Bytes
	}
	if bad != nil {
		return p, bad
	}
	named, bad := decodeNames(members.Names, path)
	if p.Encoding == task.JSON { // an edited export may leave out blobs to which the text refers
		named = append(named, blobs.Named(p.Data)...)
	}
	if bad != nil || len(named) == 0 {
		return p, bad
	}
	if p.Blobs == nil {
		p.Blobs = &task.Blobs{}
	}
	slices.Sort(named)
	p.Blobs.Named = slices.Compact(named)
	return p, nil
}

func decodeNames(names []string, path string) (digests []string, bad *Error) {
	for i, name := range names {
		d, bad := decodeDigest(name, fmt.Sprintf("%s.names[%d]", path, i))
		if bad != nil {
			return nil, bad
		}
		digests = append(digests, d)
	}
	return digests, nil
}

func decodeDigest(s, path string) (string, *Error) {
	d, ok := strings.CutPrefix(s, digestMark)
	if !ok || !blobs.ValidDigest(d) {
		return "", &Error{Field: path, Reason: "must be sha256: and 64 hex digits"}
	}
	return d, nil
}

package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/task"
)

// timeLayout is the API's: RFC 3339 with ms.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// encoder writes one record as JSON and collects the blobs that it needs.
type encoder struct {
	buf   bytes.Buffer
	blobs []string // digests
	forms forms
}

// line encodes {"name":v} and a line break.
func (e *encoder) line(name string, v any) []byte {
	e.buf.Reset()
	e.blobs = e.blobs[:0]
	fmt.Fprintf(&e.buf, `{"%s":`, name)
	e.value(reflect.ValueOf(v))
	e.buf.WriteString("}\n")
	return e.buf.Bytes()
}

func (e *encoder) value(v reflect.Value) {
	t := v.Type()
	switch t {
	case payloadType:
		e.payload(v.Interface().(task.Payload))
		return
	case timeType:
		e.time(task.Time(v.Int()))
		return
	case bytesType:
		e.text(base64.StdEncoding.EncodeToString(v.Bytes()))
		return
	}
	if words := wordsOf(t); words != nil {
		if n := v.Uint(); n < uint64(len(words)) {
			e.text(words[n])
		} else { // of a newer build: the reader refuses it
			e.number(strconv.FormatUint(n, 10))
		}
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		e.value(v.Elem())
	case reflect.Struct:
		e.object(v)
	case reflect.Slice:
		e.list(v)
	case reflect.String:
		e.text(v.String())
	case reflect.Bool:
		e.number(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.number(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.number(strconv.FormatUint(v.Uint(), 10))
	default:
		panic(fmt.Sprintf("archive: records have no %v", t)) // a test encodes every type
	}
}

// object writes the fields that are not zero.
func (e *encoder) object(v reflect.Value) {
	e.buf.WriteByte('{')
	first := true
	for _, f := range e.forms.of(v.Type()) {
		x := v.Field(f.index)
		if x.IsZero() || x.Kind() == reflect.Slice && x.Len() == 0 {
			continue
		}
		if !first {
			e.buf.WriteByte(',')
		}
		first = false
		e.buf.WriteString(`"` + f.name + `":`)
		e.value(x)
	}
	e.buf.WriteByte('}')
}

func (e *encoder) list(v reflect.Value) {
	e.buf.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		e.value(v.Index(i))
	}
	e.buf.WriteByte(']')
}

// time writes RFC 3339. The TaskStore API allows times that no calendar has. For such a time it writes a number.
func (e *encoder) time(t task.Time) {
	if t <= 0 || t > task.MaxTime {
		e.number(strconv.FormatInt(int64(t), 10))
		return
	}
	e.text(time.UnixMilli(int64(t)).UTC().Format(timeLayout))
}

func (e *encoder) number(s string) { e.buf.WriteString(s) }

func (e *encoder) text(s string) {
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)               // a string into memory
	e.buf.Truncate(e.buf.Len() - 1) // the line break
}

// payload keeps the bytes exactly. It writes JSON as JSON only if the same bytes can be read back.
func (e *encoder) payload(p task.Payload) {
	member := func(name string, value func()) {
		if e.buf.Bytes()[e.buf.Len()-1] != '{' {
			e.buf.WriteByte(',')
		}
		e.buf.WriteString(`"` + name + `":`)
		value()
	}
	e.buf.WriteByte('{')
	blobs := p.Blobs
	if blobs == nil {
		blobs = &task.Blobs{}
	}
	switch {
	case blobs.Content != "":
		e.blobs = append(e.blobs, blobs.Content)
		member(memberBlob, func() { e.text(digestMark + blobs.Content) })
		member(memberSize, func() { e.number(strconv.FormatInt(blobs.Size, 10)) })
		member(memberEncoding, func() { e.text(encodingWord(p.Encoding)) })
	case p.Encoding == task.JSON && compact(p.Data):
		member(memberJSON, func() { e.buf.Write(p.Data) })
	case p.Encoding == task.JSON:
		member(memberJSONText, func() { e.text(base64.StdEncoding.EncodeToString(p.Data)) })
	case p.Encoding == task.Bytes:
		member(memberBytes, func() { e.text(base64.StdEncoding.EncodeToString(p.Data)) })
	}
	if len(blobs.Named) > 0 {
		e.blobs = append(e.blobs, blobs.Named...)
		marked := make([]string, len(blobs.Named))
		for i, d := range blobs.Named {
			marked[i] = digestMark + d
		}
		member(memberNames, func() { e.list(reflect.ValueOf(marked)) })
	}
	e.buf.WriteByte('}')
}

func encodingWord(n task.Encoding) string {
	if n == task.JSON {
		return memberJSON
	}
	return memberBytes
}

// compact reports whether the text is JSON as it may stand in a line.
func compact(text []byte) bool {
	var b bytes.Buffer
	return json.Compact(&b, text) == nil && slices.Equal(b.Bytes(), text)
}

package archive

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/taskrt/taskrt/task"
)

// field is one field of a record in lines: all that is stored, under its Go name in snake case. A test keeps the names
// as they are: renaming a field of package task must not change the form.
type field struct {
	name  string
	index int
}

// fieldsOf lists the stored fields of a struct. What is derived has no place in CBOR, and none here.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
			all = append(all, field{snake(f.Name), i})
		}
	}
	return all
}

// snake is the name of a field: NotBefore is not_before, IDFrom id_from.
func snake(name string) string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var (
	timeType    = reflect.TypeFor[task.Time]()
	payloadType = reflect.TypeFor[task.Payload]()
	bytesType   = reflect.TypeFor[[]byte]()
)

// wordsOf are the words for the values of an enumeration, by value; nil for what is none.
func wordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[task.Status]():
		return []string{"", "CREATED", "RUNNING", "SUCCESS", "FAILURE"}
	case reflect.TypeFor[task.OperationStatus]():
		return []string{"", "RUNNING", "COMPLETING", "SUCCESS", "FAILURE"}
	case reflect.TypeFor[task.NamespaceStatus]():
		return []string{"", "ACTIVE", "INACTIVE", "PURGING", "PURGED"}
	case reflect.TypeFor[task.Role]():
		return []string{"", "partition", "completion", "cleanup"}
	case reflect.TypeFor[task.IDStrategy]():
		return []string{"random", "params", "caller"}
	case reflect.TypeFor[task.OnError]():
		return []string{"default", "retry", "fail"}
	case reflect.TypeFor[task.Concurrency]():
		return []string{"many", "one_per_target", "one_per_object"}
	}
	return nil
}

// digestMark stands before a digest where a text is one.
const digestMark = "sha256:"

// Names of the members of a payload.
const (
	memberJSON     = "json"      // the JSON itself, compact
	memberJSONText = "json_text" // base64 of JSON that is not compact
	memberBytes    = "bytes"     // base64
	memberBlob     = "blob"      // the payload is this blob
	memberSize     = "size"      // of the blob
	memberEncoding = "encoding"  // of the blob's content: json or bytes
	memberNames    = "names"     // blobs that the JSON refers to
)

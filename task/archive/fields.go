package archive

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/taskrt/taskrt/task"
)

// field is one field of a record in lines. All stored fields are there, under their Go names in snake case. A test keeps the names
// as they are: renaming a field of package task must not change the form.
type field struct {
	name  string
	index int
}

// fieldsOf lists the stored fields of a struct in the order of their CBOR numbers, because their places in the struct only serve its size. Derived
// fields have no place in CBOR, and none here.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
			all = append(all, field{snake(f.Name), i})
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return number(t, a) - number(t, b) })
	return all
}

// number returns the CBOR number of a field; 0: its struct has none.
func number(t reflect.Type, f field) int {
	text, _, _ := strings.Cut(t.Field(f.index).Tag.Get("cbor"), ",")
	n, _ := strconv.Atoi(text)
	return n
}

// forms remembers the fields of the structs that an export or import has met: listing them costs more than writing them.
type forms struct{ known map[reflect.Type][]field }

func (f *forms) of(t reflect.Type) []field {
	all, ok := f.known[t]
	if !ok {
		if f.known == nil {
			f.known = map[reflect.Type][]field{}
		}
		all = fieldsOf(t)
		f.known[t] = all
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

// words are the words for the values of the enumerations, by value.
var words = map[reflect.Type][]string{
	reflect.TypeFor[task.Status]():          {"", "CREATED", "RUNNING", "SUCCESS", "FAILURE"},
	reflect.TypeFor[task.OperationStatus](): {"", "RUNNING", "COMPLETING", "SUCCESS", "FAILURE"},
	reflect.TypeFor[task.NamespaceStatus](): {"", "ACTIVE", "INACTIVE", "PURGING", "PURGED"},
	reflect.TypeFor[task.Role]():            {"", "partition", "completion", "cleanup"},
	reflect.TypeFor[task.IDStrategy]():      {"random", "params", "caller"},
	reflect.TypeFor[task.OnError]():         {"default", "retry", "fail"},
	reflect.TypeFor[task.Concurrency]():     {"many", "one_per_target", "one_per_object"},
}

// wordsOf returns the words of an enumeration; nil for another type.
func wordsOf(t reflect.Type) []string {
	if t.PkgPath() == "" { // a built-in type
		return nil
	}
	return words[t]
}

// digestMark stands before a digest where a text is a digest.
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

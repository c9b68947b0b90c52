package audit

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/table"
)

// Record says who changed what, from where, and with which outcome. It holds no payload and no secret. Values are immutable.
type Record struct {
	Number uint64 `cbor:"1,keyasint"`           // rises with every record, of changes and of refusals
	Index  uint64 `cbor:"2,keyasint"`           // of the log entry
	At     int64  `cbor:"3,keyasint"`           // by the log's clock, in Unix milliseconds
	Token  uint64 `cbor:"4,keyasint,omitempty"` // number of the access token; 0: somebody with the cluster secret
	Name   string `cbor:"5,keyasint,omitempty"` // the name of the access token then; "": no token had the number
	From   string `cbor:"6,keyasint,omitempty"` // address
	Route  string `cbor:"7,keyasint"`           // method and path, as the table of routes has them
	Target string `cbor:"8,keyasint,omitempty"` // for a thing in a namespace: the namespace, "/" and the thing; else the thing
	Code   string `cbor:"9,keyasint,omitempty"` // the code of the refusal; "": it was done
	Count  int64  `cbor:"10,keyasint,omitempty"`
}

// Refused reports whether the record is of requests that were refused for lack of a role. Count is how many.
func (x *Record) Refused() bool { return x.Count > 0 }

// Namespace returns the namespace that the record is about; "": none in particular.
func (x *Record) Namespace() string {
	namespace, _, ok := strings.Cut(x.Target, "/")
	if !ok {
		return ""
	}
	return namespace
}

// Limits of the texts of a record, in bytes.
const (
	MaxFrom   = 64
	MaxRoute  = 64
	MaxTarget = 200
	MaxName   = 64 // of Name and Code
)

// Wrong names a text that is too long or not valid, and says why; "": all are right.
func Wrong(from, route, target string) (field, why string) {
	for _, x := range [...]struct {
		field, text string
		most        int
		why         string
	}{
		{"from", from, MaxFrom, "is at most 64 bytes of UTF-8"},
		{"route", route, MaxRoute, "is at most 64 bytes of UTF-8"},
		{"target", target, MaxTarget, "is at most 200 bytes of UTF-8"},
	} {
		if len(x.text) > x.most || !utf8.ValidString(x.text) {
			return x.field, x.why
		}
	}
	if route == "" && from+target != "" {
		return "route", "is missing"
	}
	return "", ""
}

// Cut makes a text fit. Proposers cut texts, and Apply refuses texts that are too long.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// sound reports whether a record could have been made here.
func (x *Record) sound() bool {
	field, _ := Wrong(x.From, x.Route, x.Target)
	return field == "" && x.Number != 0 && x.Index != 0 && x.Route != "" && x.Count >= 0 && len(x.Name) <= MaxName && len(x.Code) <= MaxName
}

// hash hashes every field.
func (x *Record) hash(kind uint64) uint64 {
	h := hash.New(kind)
	h.Word(x.Number)
	h.Word(x.Index)
	h.Int(x.At)
	h.Word(x.Token)
	h.Str(x.Name)
	h.Str(x.From)
	h.Str(x.Route)
	h.Str(x.Target)
	h.Str(x.Code)
	h.Int(x.Count)
	return h.Sum()
}

// about hashes what refusals of one record have in common.
func (x *Record) about() uint64 {
	h := hash.New(x.Token)
	h.Str(x.Route)
	h.Str(x.Target)
	return h.Sum()
}

// pack appends the parts of the record that a row does not have.
func (x *Record) pack() []byte {
	b := make([]byte, table.MaxLength, table.MaxLength+40+len(x.Name)+len(x.From)+len(x.Route)+len(x.Target)+len(x.Code))
	for _, n := range [...]uint64{x.Index, x.Token, uint64(x.Count)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range [...]string{x.Name, x.From, x.Route, x.Target, x.Code} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// unpack makes the record again.
func unpack(r *row, b []byte) Record {
	number := func() uint64 {
		n, length := binary.Uvarint(b)
		b = b[length:]
		return n
	}
	text := func() string {
		n := number()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	return Record{
		Number: r.number, At: r.at, Index: number(), Token: number(), Count: int64(number()),
		Name: text(), From: text(), Route: text(), Target: text(), Code: text(),
	}
}

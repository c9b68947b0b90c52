package main

import (
	"strconv"
	"unicode/utf8"

	"github.com/taskrt/taskrt/plugins/examples/table"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// rules is the JSON Schema of the member "columns" of the argument.
const rules = `{"type":"array","minItems":1,"maxItems":64,"items":{"type":"object","required":["name","type"],"properties":{` +
	`"name":{"type":"string"},"type":{"enum":["int","text"]},"optional":{"type":"boolean"},` +
	`"min":{"type":"integer"},"max":{"type":"integer"},"max_bytes":{"type":"integer","minimum":0}},"additionalProperties":false}}`

// column is what every row must hold in one place.
type column struct {
	name     string
	integer  bool // else text
	optional bool // may be empty
	min, max int64
	maxBytes int
}

func parseColumns(v tinyjson.Value) ([]column, error) {
	list, _ := v.Get("columns")
	columns := make([]column, 0, len(list.Elems()))
	for _, e := range list.Elems() {
		c := column{min: -1 << 63, max: 1<<63 - 1, maxBytes: table.MaxRow}
		name, ok1 := e.Get("name")
		kind, ok2 := e.Get("type")
		if !ok1 || !ok2 {
			return nil, sdk.Fail("bad_params", "arg.columns: each has a name and a type")
		}
		c.name, _ = name.Str()
		k, _ := kind.Str()
		c.integer = k == "int"
		optional, _ := e.Get("optional")
		c.optional, _ = optional.Truth()
		bound(e, "min", &c.min)
		bound(e, "max", &c.max)
		most := int64(c.maxBytes)
		bound(e, "max_bytes", &most)
		c.maxBytes = int(min(most, table.MaxRow))
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return nil, sdk.Fail("bad_params", `arg.columns must say what a row holds: [{"name":"id","type":"int"},…]`)
	}
	return columns, nil
}

func bound(v tinyjson.Value, name string, to *int64) {
	member, _ := v.Get(name)
	if n, ok := member.Int64(); ok {
		*to = n
	}
}

// check returns the column in which a row is wrong, or "", and the reason. The reason is "" if nothing is wrong.
func check(row []byte, columns []column) (name, why string) {
	var value []byte
	more := true
	for i := range columns {
		if !more {
			return columns[i].name, "is missing"
		}
		value, row, more = table.Cut(row)
		if why := columns[i].check(value); why != "" {
			return columns[i].name, why
		}
	}
	if more {
		return "", "it has more than " + strconv.Itoa(len(columns)) + " fields"
	}
	return "", ""
}

func (c *column) check(value []byte) (why string) {
	switch {
	case len(value) == 0:
		if c.optional {
			return ""
		}
		return "is empty"
	case !c.integer && len(value) > c.maxBytes:
		return "is longer than " + strconv.Itoa(c.maxBytes) + " bytes"
	case !c.integer && !utf8.Valid(value):
		return "is no UTF-8"
	case !c.integer:
		return ""
	}
	n, ok := integer(value)
	switch {
	case !ok:
		return "is no integer: " + quote(value)
	case n < c.min || n > c.max:
		return "is not from " + strconv.FormatInt(c.min, 10) + " to " + strconv.FormatInt(c.max, 10) + ": " + quote(value)
	}
	return ""
}

// integer reads decimal digits behind an optional minus.
func integer(text []byte) (n int64, ok bool) {
	const digits = 18 // fit
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > digits {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// quote shows a value, or how it begins.
func quote(value []byte) string {
	const most = 40
	if len(value) > most {
		return string(tinyjson.AppendString(nil, string(value[:most]))) + "…"
	}
	return string(tinyjson.AppendString(nil, string(value)))
}

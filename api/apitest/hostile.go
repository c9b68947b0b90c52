package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Hostile makes up requests for every operation of an OpenAPI document, from a seed. Some are as the document wants them, most
// are wrong somewhere, and a few are broken as bytes. Hostile knows nothing of the product except what the document says.
type Hostile struct {
	// IDs and Names of things that exist, for requests that get past the first check. If they are empty, all are made up.
	IDs, Names []string
	Tokens     []uint64

	random     *rand.Rand
	operations []*attackable
	schemas    map[string]*shape
	next       int
}

// Attack is one request.
type Attack struct {
	Operation, Method, Target, ContentType string
	Header                                 http.Header
	Body                                   []byte
}

// attackable is one operation of the document.
type attackable struct {
	id, method, path string
	parameters       []docParameter
	bodies           map[string]*shape
	media            []string // sorted
}

type docParameter struct {
	Ref string `json:"$ref"`

	Name, In string
	Required bool
	Schema   *shape
}

// shape is the part of a JSON Schema that Hostile needs.
type shape struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Enum       []any
	Pattern    string
	Properties map[string]*shape
	Required   []string
	Items      *shape
	AnyOf      []*shape
	OneOf      []*shape
}

// NewHostile reads a document.
func NewHostile(document []byte, seed uint64) (*Hostile, error) {
	var d struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []docParameter
			RequestBody struct {
				Content map[string]struct{ Schema *shape }
			}
		}
		Components struct {
			Schemas    map[string]json.RawMessage
			Parameters map[string]docParameter
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	h := &Hostile{random: rand.New(rand.NewPCG(seed, 5)), schemas: map[string]*shape{}}
	for name, raw := range d.Components.Schemas {
		s := &shape{}
		if err := json.Unmarshal(raw, s); err != nil {
			s = &shape{} // a schema of answers, which is not needed
		}
		h.schemas[name] = s
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			a := &attackable{id: o.OperationID, method: strings.ToUpper(method), path: path, parameters: o.Parameters, bodies: map[string]*shape{}}
			for i, p := range a.parameters {
				if p.Ref != "" {
					a.parameters[i] = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
			}
			for media, c := range o.RequestBody.Content {
				a.bodies[media] = c.Schema
				a.media = append(a.media, media)
			}
			slices.Sort(a.media)
			h.operations = append(h.operations, a)
		}
	}
	slices.SortFunc(h.operations, func(a, b *attackable) int { return strings.Compare(a.id, b.id) })
	return h, nil
}

// Operations returns how many operations the document has. Next takes them in turn.
func (h *Hostile) Operations() int { return len(h.operations) }

// chance is true in one of n cases.
func (h *Hostile) chance(n int) bool { return h.random.IntN(n) == 0 }

func pick[T any](h *Hostile, from ...T) T { return from[h.random.IntN(len(from))] }

// Next makes up a request for the next operation.
func (h *Hostile) Next() Attack {
	o := h.operations[h.next%len(h.operations)]
	h.next++
	a := Attack{Operation: o.id, Method: o.method, Header: http.Header{}}
	path, query := o.path, url.Values{}
	for _, p := range o.parameters {
		switch p.In {
		case "path":
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(h.text(p.Name)), 1)
		case "query":
			if p.Required || h.chance(4) {
				for range 1 + h.random.IntN(1+h.random.IntN(2)) {
					query.Add(p.Name, h.param(p))
				}
			}
		case "header":
			if h.chance(4) {
				a.Header[p.Name] = []string{h.param(p)}
			}
		}
	}
	if h.chance(20) {
		query.Add(h.nastyText(), h.nastyText())
	}
	if a.Target = path; len(query) > 0 {
		a.Target += "?" + query.Encode()
	}
	if len(o.media) > 0 && !h.chance(30) || h.chance(40) {
		h.body(o, &a)
	}
	return a
}

// param makes up the text of a query parameter or a header.
func (h *Hostile) param(p docParameter) string {
	if h.chance(3) {
		return h.nastyText()
	}
	v, err := json.Marshal(json.RawMessage(h.value(p.Name, p.Schema, 0)))
	if err != nil {
		return h.nastyText()
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

// body makes up a body of one of the forms that the operation takes, and perhaps breaks it.
func (h *Hostile) body(o *attackable, a *Attack) {
	form := &shape{}
	if len(o.media) > 0 {
		a.ContentType = o.media[h.random.IntN(len(o.media))]
		form = o.bodies[a.ContentType]
	}
	if a.Body = h.value("", form, 0); strings.HasPrefix(a.ContentType, "multipart/") {
		a.ContentType += "; boundary=x"
		a.Body = slices.Concat([]byte("--x\r\nContent-Disposition: form-data; name=\"module\"\r\n\r\n"), a.Body, []byte("\r\n--x--\r\n"))
	}
	if h.chance(30) {
		a.ContentType = pick(h, "", "text/plain", "application/json; charset=utf-16", "multipart/form-data", "\x00", "application/json")
	}
	if h.chance(5) {
		a.Body = h.broken(a.Body)
	}
}

// broken changes a text as bytes.
func (h *Hostile) broken(b []byte) []byte {
	if len(b) == 0 {
		return []byte("\xef\xbb\xbf")
	}
	at := h.random.IntN(len(b))
	switch h.random.IntN(7) {
	case 0:
		return b[:at]
	case 1:
		b = slices.Clone(b)
		b[at] ^= 1 << h.random.IntN(8)
		return b
	case 2:
		return slices.Insert(slices.Clone(b), at, byte(h.random.IntN(256)))
	case 3:
		return slices.Concat(b[:at], b[at/2:at], b[at:])
	case 4:
		return slices.Concat(b, b)
	case 5:
		return bytes.Repeat([]byte(`{"a":`), 1+h.random.IntN(20_000))
	}
	return slices.Concat([]byte("\xef\xbb\xbf"), b)
}

// value makes up JSON that matches a schema, or JSON that does not.
func (h *Hostile) value(name string, s *shape, depth int) []byte {
	for s != nil && s.Ref != "" {
		s = h.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil || depth > 6 {
		return h.nasty()
	}
	if depth > 0 && h.chance(20) {
		return h.nasty()
	}
	if either := slices.Concat(s.AnyOf, s.OneOf); len(either) > 0 {
		return h.value(name, pick(h, either...), depth)
	}
	switch {
	case len(s.Enum) > 0:
		return quote(fmt.Sprint(pick(h, s.Enum...)))
	case s.Type == "object" && s.Properties != nil:
		return h.object(s, depth)
	case s.Type == "object":
		return []byte(pick(h, `{}`, `{"a":"b"}`, `{"a":1}`, `{"":""}`, `{"a=b":"c"}`, `{"a":"b","a":"c"}`))
	case s.Type == "array":
		return h.list(name, s, depth)
	case s.Type == "integer" && strings.Contains(name, "token") && len(h.Tokens) > 0 && !h.chance(3):
		return fmt.Append(nil, pick(h, h.Tokens...))
	case s.Type == "integer":
		return []byte(pick(h, "0", "1", "2", "9", "1000", "-1", "1e3", "1.5", "9223372036854775807", "9223372036854775808",
			"-9223372036854775808", "18446744073709551615", "18446744073709551616", "1e400", "-0", "00"))
	case s.Type == "boolean":
		return []byte(pick(h, "true", "false"))
	case s.Type == "string" && s.Format == "date-time":
		return quote(pick(h, "2030-01-01T00:00:00Z", "2001-01-01T00:00:00.000Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999+23:59",
			"1969-12-31T23:59:59Z", "2030-02-30T00:00:00Z", "99999-01-01T00:00:00Z", "2262-04-12T00:00:00Z", "now", "1700000000"))
	case s.Type == "string" && s.Pattern != "":
		return quote(pick(h, "0s", "1ms", "20ms", "-1s", "2562047h47m16.854775807s", "2562047h47m16.854775808s", "-2562047h", "9e99h", "10", "1000h", "", "1h1"))
	case s.Type == "string":
		return quote(h.text(name))
	}
	return h.nasty()
}

// object makes up an object with the required fields and some of the others.
func (h *Hostile) object(s *shape, depth int) []byte {
	var parts [][]byte
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	plain := h.chance(2) // only required fields: an object with many fields is rarely right
	for _, name := range names {
		// A request that waits by default would hold up all others.
		wanted := slices.Contains(s.Required, name) || name == "timeout"
		if wanted && !h.chance(20) || !wanted && !plain && h.chance(3) {
			parts = append(parts, slices.Concat(quote(name), []byte{':'}, h.value(name, s.Properties[name], depth+1)))
		}
	}
	if h.chance(25) && len(parts) > 0 {
		parts = append(parts, parts[0])
	}
	if h.chance(25) {
		parts = append(parts, slices.Concat(quote(h.nastyText()), []byte{':'}, h.nasty()))
	}
	return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
}

func (h *Hostile) list(name string, s *shape, depth int) []byte {
	n := pick(h, 0, 1, 1, 1, 2, 3, 10)
	if h.chance(60) {
		n = 12_000
	}
	var parts [][]byte
	for range min(n, 10) {
		parts = append(parts, h.value(name, s.Items, depth+1))
	}
	for i := 10; i < n; i++ { // the same elements again: what matters is that there are many
		parts = append(parts, parts[i%10])
	}
	return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
}

// text makes up a string for a field or parameter of this name.
func (h *Hostile) text(name string) string {
	if h.chance(10) {
		return h.nastyText()
	}
	known := !h.chance(4)
	switch name {
	case "id", "ids", "parent":
		if known && len(h.IDs) > 0 {
			return pick(h, h.IDs...)
		}
		return pick(h, "made-up", "1", "123")
	case "name", "behavior":
		if known && len(h.Names) > 0 {
			return pick(h, h.Names...)
		}
		return pick(h, "made.up", "made.up.too")
	case "namespace":
		return pick(h, "", "default", "default", "default", "elsewhere")
	case "group":
		return pick(h, "g", "made/up")
	case "if_exists":
		return pick(h, "join", "fail", "rerun", "resubmit", "maybe")
	case "until":
		return pick(h, "final", "running", "waiting", "success", "rev:1", "rev:-1", "attempt:99999999999999999999", "outcome", "final:1")
	case "mode":
		return pick(h, "all", "any", "none")
	case "label":
		return pick(h, "a=b", "a", "=", "=b")
	case "kind":
		return pick(h, "external", "external", "wasm")
	case "version", "digest":
		return pick(h, "active", strings.Repeat("0", 64), strings.Repeat("f", 63))
	case "Last-Event-ID":
		return pick(h, "0", "1", "-1", "99999999999999999999", "9223372036854775807", "x")
	case "Idempotency-Key":
		return pick(h, "a", "b", "c", strings.Repeat("k", 255), strings.Repeat("k", 256), "ü", "two words")
	case "worker":
		return pick(h, "w", "w2")
	}
	return pick(h, "text", "", "AAAA", "made-up")
}

// nasty makes up JSON, or nearly JSON, that rarely fits.
func (h *Hostile) nasty() []byte {
	if h.chance(3) {
		return quote(h.nastyText())
	}
	return []byte(pick(h, "null", "-1", "0", "1e400", "99999999999999999999", "1.5", "true", "[]", "{}", `[[[]]]`, `""`, `{"":{}}`, `"\ud800"`,
		"\"\xff\xfe\"", `"\u0000"`, "NaN", "'", `[1,]`, "", strings.Repeat("[", 300)+strings.Repeat("]", 300)))
}

func (h *Hostile) nastyText() string {
	switch h.random.IntN(12) {
	case 0:
		return strings.Repeat("x", 1+h.random.IntN(200_000))
	case 1:
		return strings.Repeat("x", pick(h, 128, 129, 256, 257))
	}
	return pick(h, "", " ", ".", "..", "../..", "a b c", "a\x00b", "\n", "ü€𝄞", "\xff\xfe", "%", "-1", "null", "<script>", "'; drop", "A", "__proto__", "$id")
}

// quote writes a JSON string. Bytes that are not UTF-8 are written as they are.
func quote(s string) []byte {
	if strings.ToValidUTF8(s, "") != s {
		return slices.Concat([]byte{'"'}, []byte(s), []byte{'"'})
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // cannot happen: every string has a form in JSON
	}
	return b
}

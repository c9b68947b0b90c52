package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a RoundTripper that checks against /openapi.json everything that passes: every request that is accepted, and every answer with its
// status, media type and fields. It also checks that every thing that was created has a path. Fields that the document does not have are wrong, too.
type Document struct {
	// Hostile says that the requests are meant to be wrong. Then accepted requests are not checked: the document is stricter
	// than the TaskStore's clients (SPEC X2), and knows nothing of wrong elements of a batch, each of which has an answer of
	// its own.
	Hostile bool

	base       *http.Transport
	operations []*documented

	mu    sync.Mutex
	wrong []string
}

// documented is one operation of the document.
type documented struct {
	method, name string
	path         *regexp.Regexp
	request      *jsonschema.Schema                    // of a JSON body; nil if the operation takes none
	statuses     map[int]map[string]*jsonschema.Schema // by media type; nil: not JSON
	events       map[string]*jsonschema.Schema         // of a stream, by name
	codes        []any                                 // that its errors may have
	met          bool
}

// NewDocument reads the document of the server at url.
func NewDocument(t *testing.T, url string) *Document {
	t.Helper()
	c := &Document{base: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(c.base.CloseIdleConnections)
	res, err := (&http.Client{Transport: c.base}).Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	v, err := jsonschema.UnmarshalJSON(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	doc := v.(map[string]any)
	for name, c := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if name != "Problem" && name != "StoreProblemFields" { // these two are parts of problems, which are closed as a whole
			closeObject(c)
		}
	}
	for _, r := range doc["components"].(map[string]any)["responses"].(map[string]any) {
		for _, form := range r.(map[string]any)["content"].(map[string]any) {
			form.(map[string]any)["schema"].(map[string]any)["unevaluatedProperties"] = false
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc["paths"].(map[string]any) {
		for method, o := range methods.(map[string]any) {
			c.operations = append(c.operations, newDocumented(t, compiler, doc, path, method, o.(map[string]any)))
		}
	}
	return c
}

// closeObject changes the schema of an object so that the object may have no other fields than the schema says.
func closeObject(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if _, object := s["properties"]; object {
		s["additionalProperties"] = false
	}
	either, _ := s["oneOf"].([]any)
	for _, e := range either {
		closeObject(e)
	}
}

func newDocumented(t *testing.T, compiler *jsonschema.Compiler, doc map[string]any, path, method string, o map[string]any) *documented {
	t.Helper()
	at := func(parts ...string) *jsonschema.Schema {
		pointer := "openapi.json#"
		for _, p := range parts {
			pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(p)
		}
		s, err := compiler.Compile(pointer)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	segment := `[^/]+`
	if strings.HasPrefix(path, "/taskstore/") {
		segment = `(?s:.*)` // the rest of the path, of any characters
	}
	quoted := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), segment)
	d := &documented{
		method: strings.ToUpper(method), name: o["operationId"].(string), path: regexp.MustCompile("^" + quoted + "$"),
		statuses: map[int]map[string]*jsonschema.Schema{}, events: map[string]*jsonschema.Schema{},
	}
	d.codes, _ = o["x-error-codes"].([]any)
	if body, ok := o["requestBody"].(map[string]any); ok && body["content"].(map[string]any)["application/json"] != nil {
		d.request = at("paths", path, method, "requestBody", "content", "application/json", "schema")
		checkExamples(t, d.name, body["content"].(map[string]any)["application/json"], d.request)
	}
	for status, r := range o["responses"].(map[string]any) {
		n := 0
		if _, err := fmt.Sscan(status, &n); err != nil {
			t.Fatal(err)
		}
		d.statuses[n] = map[string]*jsonschema.Schema{}
		place := []string{"paths", path, method, "responses", status}
		if ref, ok := r.(map[string]any)["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/responses/")
			place, r = []string{"components", "responses", name}, doc["components"].(map[string]any)["responses"].(map[string]any)[name]
		}
		content, _ := r.(map[string]any)["content"].(map[string]any)
		for media, form := range content {
			d.statuses[n][media] = nil
			events, _ := form.(map[string]any)["x-events"].(map[string]any)
			for name := range events {
				d.events[name] = at(append(slices.Clone(place), "content", media, "x-events", name)...)
			}
			if strings.HasSuffix(media, "json") && media != "application/x-ndjson" { // the latter is lines, each of which is JSON
				d.statuses[n][media] = at(append(place, "content", media, "schema")...)
				checkExamples(t, d.name, form, d.statuses[n][media])
			}
		}
	}
	return d
}

// checkExamples holds the examples of a body against its schema.
func checkExamples(t *testing.T, name string, form any, schema *jsonschema.Schema) {
	t.Helper()
	examples, _ := form.(map[string]any)["examples"].(map[string]any)
	for _, e := range examples {
		if err := schema.Validate(e.(map[string]any)["value"]); err != nil {
			t.Errorf("the example of %s: %v", name, err)
		}
	}
}

func (c *Document) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// RoundTrip implements http.RoundTripper.
func (c *Document) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		var err error
		sent, err = io.ReadAll(req.Body)
		if err := errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
		return res, nil // an answer of net/http, before anybody knows the path
	}
	i := slices.IndexFunc(c.operations, func(d *documented) bool { return d.matches(req) })
	if i < 0 {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			c.fail("%s %s is not in the document and answers %d", req.Method, req.URL.Path, res.StatusCode)
		}
		return res, nil
	}
	d := c.operations[i]
	c.mu.Lock()
	d.met = true
	c.mu.Unlock()
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	contents, ok := d.statuses[res.StatusCode]
	schema, known := contents[media]
	switch {
	case !ok:
		c.fail("%s: answers %d", d.name, res.StatusCode)
	case !known && (media != "" || len(contents) > 0):
		c.fail("%s: answers %d as %q", d.name, res.StatusCode, media)
	}
	if res.StatusCode == http.StatusCreated && req.Method == http.MethodPost && !c.leads(res.Header.Get("Location")) {
		c.fail("%s: what was created is not at %q", d.name, res.Header.Get("Location"))
	}
	if d.request != nil && res.StatusCode < 300 && len(sent) > 0 && !c.Hostile {
		if err := validate(d.request, sent); err != nil {
			c.fail("%s: accepts %.300s: %v", d.name, sent, err)
		}
	}
	if media == "text/event-stream" && len(d.events) > 0 {
		res.Body = &eventChecker{ReadCloser: res.Body, of: d, fail: c.fail}
	}
	if schema == nil {
		return res, nil
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(got))
	if err := validate(schema, got); err != nil {
		c.fail("%s: answers %d %.300s: %v", d.name, res.StatusCode, got, err)
	}
	if code := codeOf(got); res.StatusCode >= 400 && !slices.Contains(d.codes, any(code)) {
		c.fail("%s: answers %d with the code %s", d.name, res.StatusCode, code)
	}
	return res, nil
}

// eventChecker holds each event of a stream against the schema of its data, while the stream is read.
type eventChecker struct {
	io.ReadCloser
	of   *documented
	fail func(format string, args ...any)
	line []byte // that has not ended
	name string // of the event
}

// Read implements io.Reader.
func (e *eventChecker) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	e.line = append(e.line, b[:n]...)
	for {
		line, rest, whole := bytes.Cut(e.line, []byte("\n"))
		if !whole {
			return n, err
		}
		e.line = rest
		if name, is := bytes.CutPrefix(line, []byte("event: ")); is {
			e.name = string(name)
		} else if data, is := bytes.CutPrefix(line, []byte("data: ")); is {
			e.check(bytes.Clone(data))
		}
	}
}

func (e *eventChecker) check(data []byte) {
	schema := e.of.events[e.name]
	if schema == nil {
		e.fail("%s: there is no event %q", e.of.name, e.name)
		return
	}
	if err := validate(schema, data); err != nil {
		e.fail("%s: the event %s has %.300s: %v", e.of.name, e.name, data, err)
	}
}

// leads reports whether the document has a path at which one can get something.
func (c *Document) leads(location string) bool {
	u, err := url.Parse(location)
	return err == nil && slices.ContainsFunc(c.operations, func(d *documented) bool {
		return d.matches(&http.Request{Method: http.MethodGet, URL: u})
	})
}

// codeOf returns the code of a problem.
func codeOf(text []byte) string {
	var p struct{ Code string }
	_ = json.Unmarshal(text, &p) // the schema has looked at it
	return p.Code
}

// matches reports whether the request is for the operation. Only names of groups may have "." as a part of a path.
func (d *documented) matches(req *http.Request) bool {
	p := req.URL.Path
	clean := strings.HasPrefix(p, "/taskstore/") || path.Clean(p) == p
	return d.method == req.Method && clean && d.path.MatchString(p)
}

func validate(s *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// Report reports every error once. With all it also reports the operations that no request has met.
func (c *Document) Report(t *testing.T, all bool) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.wrong)
	for _, w := range slices.Compact(c.wrong) {
		t.Error(w)
	}
	if !all {
		return
	}
	for _, d := range c.operations {
		if !d.met {
			t.Errorf("%s: the suite does not meet it", d.name)
		}
	}
}

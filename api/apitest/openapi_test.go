package apitest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
)

// TestAnswersMatchTheDocument runs the whole suite over HTTP and holds every request that was accepted, and every
// answer, against what /openapi.json says of its route: status, media type, schema. Fields that the document does not
// have are refused too. The suite must meet every operation.
func TestAnswersMatchTheDocument(t *testing.T) {
	var checker *documentChecker
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		server := httptest.NewServer(api.NewHandler(f, api.HandlerConfig{Logger: slog.New(slog.DiscardHandler)}))
		t.Cleanup(server.Close)
		checker = newDocumentChecker(t, server)
		client, err := api.NewClient(api.ClientConfig{URLs: []string{server.URL}, Transport: checker})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	})
	for _, path := range []string{ // what no method of Service asks for
		"/v1/behaviors/apitest.ok/versions", "/v1/cluster/members", "/healthz", "/openapi.json", "/v1/nothing",
		"/taskstore/group", "/taskstore/task/999999999",
	} {
		res, err := (&http.Client{Transport: checker}).Get(checker.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	checker.report(t)
}

// documentChecker is a RoundTripper that compares what passes with the document.
type documentChecker struct {
	url        string
	base       http.RoundTripper
	operations []*documented

	mu    sync.Mutex
	wrong []string
}

// documented is one operation of the document.
type documented struct {
	method, name string
	path         *regexp.Regexp
	request      *jsonschema.Schema                    // of a JSON body; nil if it takes none
	statuses     map[int]map[string]*jsonschema.Schema // by media type; nil: not JSON
	met          bool
}

func newDocumentChecker(t *testing.T, server *httptest.Server) *documentChecker {
	t.Helper()
	res, err := server.Client().Get(server.URL + "/openapi.json")
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
		if name != "Problem" && name != "StoreProblemFields" { // parts of problems, which are closed as a whole
			closeObject(c)
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	c := &documentChecker{url: server.URL, base: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(c.base.(*http.Transport).CloseIdleConnections)
	for path, methods := range doc["paths"].(map[string]any) {
		for method, o := range methods.(map[string]any) {
			c.operations = append(c.operations, newDocumented(t, compiler, path, method, o.(map[string]any)))
		}
	}
	return c
}

// closeObject lets an object have no other fields than those that it is said to have.
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

func newDocumented(t *testing.T, compiler *jsonschema.Compiler, path, method string, o map[string]any) *documented {
	t.Helper()
	at := func(parts ...string) *jsonschema.Schema {
		pointer := "openapi.json#/paths"
		for _, p := range append([]string{path, method}, parts...) {
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
		segment = `.*` // the rest of the path
	}
	quoted := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), segment)
	d := &documented{
		method: strings.ToUpper(method), name: o["operationId"].(string), path: regexp.MustCompile("^" + quoted + "$"),
		statuses: map[int]map[string]*jsonschema.Schema{},
	}
	if body, ok := o["requestBody"].(map[string]any); ok && body["content"].(map[string]any)["application/json"] != nil {
		d.request = at("requestBody", "content", "application/json", "schema")
	}
	for status, r := range o["responses"].(map[string]any) {
		n := 0
		fmt.Sscan(status, &n)
		d.statuses[n] = map[string]*jsonschema.Schema{}
		content, _ := r.(map[string]any)["content"].(map[string]any)
		for media, form := range content {
			d.statuses[n][media] = nil
			if n >= 400 {
				form.(map[string]any)["schema"].(map[string]any)["unevaluatedProperties"] = false
			}
			if strings.HasSuffix(media, "json") {
				d.statuses[n][media] = at("responses", status, "content", media, "schema")
			}
		}
	}
	return d
}

func (c *documentChecker) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// RoundTrip implements http.RoundTripper.
func (c *documentChecker) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.operations, func(d *documented) bool { return d.method == req.Method && d.path.MatchString(req.URL.Path) })
	if i < 0 {
		if res.StatusCode != 404 && res.StatusCode != 405 {
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
	if d.request != nil && res.StatusCode < 300 && len(sent) > 0 {
		if err := validate(d.request, sent); err != nil {
			c.fail("%s: accepts %.300s: %v", d.name, sent, err)
		}
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
	return res, nil
}

func validate(s *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// report tells what was wrong, the same once, and which operations nothing met.
func (c *documentChecker) report(t *testing.T) {
	slices.Sort(c.wrong)
	for _, w := range slices.Compact(c.wrong) {
		t.Error(w)
	}
	for _, d := range c.operations {
		if !d.met {
			t.Errorf("%s: the suite does not meet it", d.name)
		}
	}
}

// TestTheCheckerChecks: a document that says too little is noticed.
func TestTheCheckerChecks(t *testing.T) {
	f := apitest.NewFake()
	defer f.Close()
	server := httptest.NewServer(api.NewHandler(f, api.HandlerConfig{Logger: slog.New(slog.DiscardHandler)}))
	defer server.Close()
	c := newDocumentChecker(t, server)
	task := c.operations[slices.IndexFunc(c.operations, func(d *documented) bool { return d.name == "getTask" })].statuses[200]["application/json"]
	for text, fits := range map[string]bool{
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"2026-01-01T00:00:00.000Z","history":[],"labels":{},"priority":4}}`:         true,
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"2026-01-01T00:00:00.000Z","history":[],"labels":{},"priority":4,"new":1}}`: false,
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"yesterday","history":[],"labels":{},"priority":4}}`:                        false,
		`{"task":{"namespace":"default"}}`: false,
		`{"task":null}`:                    false,
	} {
		var invalid *jsonschema.ValidationError
		err := validate(task, []byte(text))
		if fits != (err == nil) || err != nil && !errors.As(err, &invalid) || !json.Valid([]byte(text)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
)

// hostile is text that a terminal obeys, or that hides what it says; JSON can carry it.
const hostile = "\x1b[2J\x1b]0;title\adone\rtaskrt: task ok\nresult: fine\u009b2J\u202e\u200b\x7f"

// filled returns a value with the hostile text wherever it has text.
func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 0)
	return v
}

func fill(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case api.Time:
		v.Set(reflect.ValueOf(api.Time{Time: time.UnixMilli(1_700_000_000_000)}))
		return
	case json.RawMessage:
		text, _ := json.Marshal(hostile) // a string always can be
		v.SetBytes([]byte(strings.ReplaceAll(string(text), `\u007f`, "\x7f")))
		return
	case []byte, api.Keep:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

// finished is a task that all commands take for final and failed.
func finished() *api.Task {
	t := filled[*api.Task]()
	t.Final, t.Status = true, "FAILURE"
	return t
}

// TestNoCommandObeysTheText: whatever the cluster answers, no command sends a terminal anything that it obeys, or a
// line that is not taskrt's; and -o json is the cluster's answer, byte for byte.
func TestNoCommandObeysTheText(t *testing.T) {
	op := filled[*api.Operation]()
	op.Status, op.Partitions = "FAILURE", 1
	asked, named := *op, finished() // asked about again, by what names them
	asked.Namespace, asked.ID, named.Namespace, named.ID = "default", "one", "default", "one"
	detail := filled[*api.BehaviorDetail]()
	type body = map[string]any
	for line, answer := range map[string]any{
		"get one":                       body{"task": finished()},
		"list":                          filled[api.ListReply](),
		"failures":                      filled[insight.FailuresReply](),
		"job list":                      filled[jobs.JobList](),
		"job get 7":                     filled[jobs.JobReply](),
		"why one":                       filled[insight.WhyReply](),
		"wait one":                      body{"task": named},
		"wait one two":                  body{"tasks": []any{finished(), nil}},
		"submit job --wait":             body{"task": named, "outcome": hostile},
		"submit job":                    body{"task": finished(), "outcome": hostile},
		"cancel one":                    body{"task": finished()},
		"retry one":                     body{"task": finished()},
		"resubmit one":                  body{"task": finished(), "outcome": hostile},
		"op get one":                    body{"operation": op},
		"op list":                       body{"operations": []any{op}, "cursor": hostile},
		"op start job --wait":           body{"operation": asked},
		"op watch one":                  body{"operation": op},
		"op cancel one":                 body{"operation": op},
		"op partitions one":             filled[api.ListReply](),
		"behavior list":                 body{"behaviors": []any{filled[api.Behavior]()}},
		"behavior show abc":             body{"behavior": detail},
		"behavior pause abc":            body{"behavior": detail},
		"behavior stats abc":            filled[api.BehaviorStats](),
		"cluster status":                filled[api.Cluster](),
		"cluster workers":               body{"workers": []any{filled[api.Worker]()}},
		"cluster drain n1":              body{"node": filled[api.Node]()},
		"namespace list":                body{"namespaces": []any{filled[api.Namespace]()}},
		"namespace show abc":            body{"namespace": filled[api.Namespace]()},
		"maintenance info":              filled[api.MaintenanceInfo](),
		"maintenance log":               body{"runs": []any{filled[api.MaintenanceRun]()}},
		"maintenance log 1":             body{"run": filled[api.MaintenanceRun]()},
		"push " + echoWasm:              body{"module": filled[api.Module]()},
		"blob put words_test.go":        body{"blob": body{"digest": hostile, "size": 1}},
		"get refused":                   nil,
		"submit refused":                nil,
		"maintenance run":               nil,
		"namespace purge refused --yes": nil,
		"token list":                    filled[auth.TokensReply](),
		"token show abc":                filled[auth.Token](),
		"token self":                    filled[auth.Token](),
		"token create abc --role read":  nil,
		"token revoke abc":              nil,
	} {
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		reached := false
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached = true
			if answer == nil {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				problem, _ := json.Marshal(map[string]any{"type": "about:blank", "title": hostile, "status": 409, "detail": hostile, "code": hostile, "field": hostile})
				_, _ = w.Write(problem)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}))
		var stdout, stderr bytes.Buffer
		args := append([]string{"taskrt"}, strings.Fields(line)...)
		run(t.Context(), append(args, "--server", s.URL), strings.NewReader(""), &stdout, &stderr)
		checkWords(t, line+": stdout", stdout.String())
		checkWords(t, line+": stderr", stderr.String())
		for _, f := range []string{"wide", "name"} { // both are for eyes, too
			var out bytes.Buffer
			run(t.Context(), append(args, "-o", f, "--server", s.URL), strings.NewReader(""), &out, io.Discard)
			checkWords(t, line+" -o "+f, out.String())
		}
		if said := stdout.String() + stderr.String(); !reached || !strings.Contains(said, `\x1b[2J`) && !strings.Contains(said, `\u001b[2J`) && !strings.Contains(line, "stats") && !strings.Contains(line, "op cancel") {
			t.Errorf("%s: nothing of the hostile text is shown: it proves nothing: %q", line, said)
		}
		if answer != nil && !strings.HasPrefix(line, "submit") && !strings.HasPrefix(line, "wait one two") {
			stdout.Reset()
			run(t.Context(), append(args, "-o", "json", "--server", s.URL), strings.NewReader(""), &stdout, &stderr)
			if stdout.String() != string(text) {
				t.Errorf("%s -o json: %q, want %q", line, stdout.String(), text)
			}
		}
		s.Close()
	}
}

// checkWords looks for what a terminal obeys, and for a line that the text made up.
func checkWords(t *testing.T, where, said string) {
	t.Helper()
	if !utf8.ValidString(said) || strings.ContainsFunc(said, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b'
	}) {
		t.Errorf("%s: a terminal obeys some of %q", where, said)
	}
	if strings.HasPrefix(said, "result: fine") || strings.Contains(said, "\nresult: fine") {
		t.Errorf("%s: the text makes up a line: %q", where, said)
	}
}

const echoWasm = "../../testdata/wasm/echo.wasm"

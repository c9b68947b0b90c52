package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/metrics"
)

// formerNames were renamed before names were promised. pattern finds the former name in a text, such as was; now is
// the name that stands there today. Only ns lives on as an alias, and the pages do not use it.
var formerNames = []struct{ pattern, was, now string }{
	{`worker\b.*--join\b`, "taskrt worker --id w1 --join http://n1:7070", "--server"},
	{`TASKRT_JOIN.*(URL|http)`, "`TASKRT_JOIN` (HTTP URLs)", "TASKRT_SERVER"},
	{`(^|[\s"\x60])--?slots\b`, "taskrt worker --slots 16", "--worker-slots"},
	{`TASKRT_SLOTS\b`, "TASKRT_SLOTS", "TASKRT_WORKER_SLOTS"},
	{`(^|[\s"\x60])--?servers\b`, "worker.py --servers http://n1:7070", "--server"},
	{`TASKRT_WORKER_INSECURE\b`, "TASKRT_WORKER_INSECURE", "TASKRT_INSECURE"},
	{`\blist\b.*--not-before\b`, "taskrt list --not-before 2030-01-01T00:00:00Z", "--due-before"},
	{`TASKRT_LIST_NOT_BEFORE\b`, "TASKRT_LIST_NOT_BEFORE", "TASKRT_LIST_DUE_BEFORE"},
	{`[?&]not_before=|GET /v1/tasks\b.*\bnot_before\b`, "/v1/tasks?not_before=2030-01-01T00:00:00Z", "due_before"},
	{`\bretry_after\b`, `"retry_after":1000`, "retry_after_ms"},
	{`PUT \S*/v1/(namespaces|blobs)\b`, "curl -X PUT $TASKRT_SERVER/v1/blobs", "PATCH /v1/namespaces/{name}, POST /v1/blobs"},
	{`taskrt ns\b`, "taskrt ns list", "taskrt namespace"},
	{`TASKRT_NS_`, "TASKRT_NS_MAX_TASKS", "TASKRT_NAMESPACE_…"},
	{`/v1/tasks/[^/\s]+/log\b`, "GET /v1/tasks/{id}/log", "/v1/tasks/{id}/logs"},
	{`"taskLog"|\bLogReply\b`, `"operationId":"taskLog"`, "taskLogs, LogsReply"},
	{`taskrt_module_compile_seconds`, "taskrt_module_compile_seconds", "taskrt_module_compile_duration_seconds"},
	{`taskrt_http_request_seconds`, "taskrt_http_request_seconds", "taskrt_http_request_duration_seconds"},
	{`taskrt_raft_disk_write(s|_seconds)_total`, "taskrt_raft_disk_write_seconds_total", "taskrt_raft_disk_write_duration_seconds"},
	{`taskrt_tasks\b.*\b(RETRYING|REPEATING)\b`, `taskrt_tasks{status="RETRYING"}`, `status="FAILURE",final="false"`},
}

// formerly are the lines that have to name something of a former build: "page: text of the line".
var formerly = []string{
	"docs/run-a-cluster.md: it. With the former build, on the running cluster, export each namespace (there `taskrt ns list`):",
	"docs/run-a-cluster.md: taskrt ns export default --file default.jsonl",
}

// TestFormerNames: nobody is told a name that is gone: not by a command's help, which names each flag and its
// variable, nor by the OpenAPI document, the metrics, a page or an example.
func TestFormerNames(t *testing.T) {
	texts := map[string]string{}
	addHelp(t, texts)
	addDocument(t, texts)
	addMetrics(t, texts)
	addPages(t, texts)
	for _, n := range formerNames {
		former := regexp.MustCompile(n.pattern)
		if !former.MatchString(n.was) {
			t.Errorf("%s does not find %q: it proves nothing", n.pattern, n.was)
		}
		for where, text := range texts {
			for line := range strings.Lines(text) {
				line = strings.TrimSpace(line)
				if found := former.FindString(line); found != "" && !isFormerly(where, line) {
					t.Errorf("%s has the former name %q; it is %s now", where, found, n.now)
				}
			}
		}
	}
}

func isFormerly(where, line string) bool {
	for _, allowed := range formerly {
		if where+": "+line == allowed {
			return true
		}
	}
	return false
}

// addHelp adds what --help prints of each command. Each line begins with the command's name.
func addHelp(t *testing.T, texts map[string]string) {
	t.Helper()
	var paths []string
	var walk func(prefix string, commands []*cli.Command)
	walk = func(prefix string, commands []*cli.Command) {
		for _, c := range commands {
			path := strings.TrimSpace(prefix + " " + c.Name)
			paths = append(paths, path)
			walk(path, c.Subcommands)
		}
	}
	walk("", testApp().Commands)
	for _, path := range append(paths, "") {
		args := append(append([]string{"taskrt"}, strings.Fields(path)...), "--help")
		var out, errs bytes.Buffer
		run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if !strings.Contains(out.String(), "USAGE:") {
			t.Errorf("%q prints no help: %s", args, out.String())
		}
		var lines strings.Builder
		for line := range strings.Lines(out.String()) {
			lines.WriteString(path + ": " + line)
		}
		texts[strings.Join(args, " ")] = lines.String()
	}
}

// addDocument adds the OpenAPI document: a line for each route with its parameters, and all of it.
func addDocument(t *testing.T, texts map[string]string) {
	t.Helper()
	rec := httptest.NewRecorder()
	server.New(nil, server.Config{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Ref  string `json:"$ref"`
				Name string
			}
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil || len(d.Paths) < 20 {
		t.Fatalf("%v, %d paths", err, len(d.Paths))
	}
	var routes strings.Builder
	for path, methods := range d.Paths {
		for method, route := range methods {
			routes.WriteString(strings.ToUpper(method) + " " + path)
			for _, p := range route.Parameters {
				routes.WriteString(" " + p.Name + p.Ref[strings.LastIndex(p.Ref, ".")+1:])
			}
			routes.WriteString("\n")
		}
	}
	texts["/openapi.json: routes"] = routes.String()
	texts["/openapi.json"] = strings.ReplaceAll(rec.Body.String(), ",", ",\n")
}

// addMetrics adds a scrape of a process that has done nothing. Names that only a node has are in the table of
// docs/metrics.md, which a test of package metrics compares with a whole scrape.
func addMetrics(t *testing.T, texts map[string]string) {
	t.Helper()
	rec := httptest.NewRecorder()
	metrics.New(metricsConfig(slog.New(slog.DiscardHandler))).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if texts["/metrics"] = rec.Body.String(); !strings.Contains(texts["/metrics"], "taskrt_build_info") {
		t.Errorf("no scrape: %s", texts["/metrics"])
	}
}

// addPages adds the pages, and the examples with their programs and templates.
func addPages(t *testing.T, texts map[string]string) {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := 0
	for _, of := range []string{"README.md", "RATIONALE.md", "docs", "examples", "abi/README.md", "plugins/examples", "cmd/taskrt/internal/scaffold/templates"} {
		err := filepath.WalkDir(filepath.Join(root, of), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) == ".wasm" {
				return err
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			texts[filepath.ToSlash(name)] = string(text)
			pages++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if pages < 30 {
		t.Fatalf("only %d pages and examples found", pages)
	}
}

// Package check holds the OpenAPI document against those who read it: a validator, and two generators whose clients are used against a live
// cluster. It is a module of its own, so that they are none of what taskrt needs.
package check

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/taskrt/taskrt/internal/leash"
)

// server is the URL of a node of a live cluster, work a directory of this run, and document the document that the node serves.
var server, work, document string

func TestMain(m *testing.M) {
	code := 1
	if err := start(); err != nil {
		fmt.Println(err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(work)
	os.Exit(code)
}

// start starts a cluster of three nodes, and saves its document.
func start() error {
	var err error
	if work, err = os.MkdirTemp("", "openapi-"); err != nil {
		return err
	}
	exe := filepath.Join(work, "taskrt")
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", exe, "./cmd/taskrt")
	build.Dir, build.Env = filepath.Join("..", "..", "..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build taskrt: %w: %s", err, out)
	}
	cmd := leash.Command(exe, "dev", "--http", "127.0.0.1:0", "--worker", "none", "--dir", filepath.Join(work, "cluster"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); server == ""; {
		if !lines.Scan() {
			return fmt.Errorf("taskrt dev does not get ready: %w", lines.Err())
		}
		if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			server = url
		}
	}
	document = filepath.Join(work, "openapi.json")
	r, err := http.Get(server + "/openapi.json")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(document, text, 0o600)
}

// run executes a command in a directory, and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%.8000s", name, args, err, out)
	}
	return string(out)
}

// TestValid: the document is as the schema of OpenAPI 3.1 wants it (https://spec.openapis.org/oas/3.1/schema/2022-10-07), and every schema in it is a
// right JSON Schema, whose references lead somewhere.
func TestValid(t *testing.T) {
	c := jsonschema.NewCompiler()
	read := func(name, path string) any {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		v, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(name, v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	read("oas.json", filepath.Join("testdata", "openapi-3.1.json"))
	d := read("openapi.json", document)
	schema, err := c.Compile("oas.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(d); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{`{"openapi":"3.1.1","info":{"title":"x"},"paths":{}}`, `{"openapi":"3.1.1","info":{"title":"x","version":"1"},"paths":{"/x":{"get":{"parameters":[{"in":"query"}]}}}}`} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		if err != nil || schema.Validate(v) == nil {
			t.Errorf("%s is taken for right: %v", wrong, err)
		}
	}
	for name := range d.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
	}
}

// copied copies testdata/NAME into a directory of its own.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(work, name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// documented fails unless the manual has a command.
func documented(t *testing.T, command string) {
	t.Helper()
	manual, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "use-the-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(manual), command) {
		t.Errorf("docs/use-the-api.md does not say `%s`", command)
	}
}

// TestGoClient: ogen makes a client of the whole document, and a program does with it what testdata/go/main.go says.
func TestGoClient(t *testing.T) {
	dir := copied(t, "go")
	if err := os.Rename(filepath.Join(dir, "main.go.txt"), filepath.Join(dir, "main.go")); err != nil {
		t.Fatal(err)
	}
	// The program has the dependencies of this module, of which ogen is a tool, and so no version is resolved here.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".."))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.ReplaceAll(string(text), "=> ../../../../..", "=> "+root))
		text = []byte(strings.Replace(string(text), "module github.com/taskrt/taskrt/api/internal/openapi/testdata/check", "module client", 1))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	version := strings.Fields(run(t, ".", "go", "list", "-m", "github.com/ogen-go/ogen"))[1]
	documented(t, "go run github.com/ogen-go/ogen/cmd/ogen@"+version+" --target taskrtapi --package taskrtapi --clean --config ogen.yml ")
	out := run(t, ".", "go", "tool", "ogen", "--target", filepath.Join(dir, "taskrtapi"), "--package", "taskrtapi", "--clean", "--config", "ogen.yml", document)
	if strings.Contains(out, "Skipping") {
		t.Errorf("ogen leaves something out: %s", out)
	}
	t.Log(run(t, dir, "go", "run", "-trimpath", ".", server))
}

// TestTypeScriptClient: openapi-typescript makes types of the document, a program with openapi-fetch keeps to them, and does what
// testdata/ts/client.ts says.
func TestTypeScriptClient(t *testing.T) {
	dir := copied(t, "ts")
	run(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	documented(t, "npx openapi-typescript ")
	run(t, dir, "npx", "--no-install", "openapi-typescript", document, "-o", "taskrt.d.ts")
	run(t, dir, "npx", "--no-install", "tsc", "-p", ".")
	t.Log(run(t, dir, "node", "client.js", server))
	// The types are not just any: a program that misspells a field, or a status, does not compile.
	for old, wrong := range map[string]string{`behavior: "greet"`: `behaviour: "greet"`, `=== "SUCCESS"`: `=== "SUCCEEDED"`} {
		text, err := os.ReadFile(filepath.Join(dir, "client.ts"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), old) {
			t.Fatalf("client.ts has no %s", old)
		}
		if err := os.WriteFile(filepath.Join(dir, "client.ts"), []byte(strings.Replace(string(text), old, wrong, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "npx", "--no-install", "tsc", "-p", ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "error TS") {
			t.Errorf("%s compiles: %s", wrong, out)
		}
		if err := os.WriteFile(filepath.Join(dir, "client.ts"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

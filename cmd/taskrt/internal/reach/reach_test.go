package reach

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/contexts"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/trust"
)

const pin = "sha256:0000000000000000000000000000000000000000000000000000000000000001"

// read reads a command line as the commands do.
func read(t *testing.T, args ...string) (r *Reach, err error) {
	t.Helper()
	flag := func(name, value, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Value: value, Usage: usage, EnvVars: []string{"TASKRT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}}
	}
	app := &cli.App{
		Flags: append(Flags(flag), flag("server", "default:1", ""), flag("namespace", "default", "")),
		Action: func(c *cli.Context) error {
			r, err = Read(c, strings.Split(c.String("server"), ","), func(err error) { t.Error("warned: ", err) })
			return nil
		},
	}
	if err := app.Run(append([]string{"taskrt"}, args...)); err != nil {
		t.Fatal(err)
	}
	return r, err
}

// user gives the test a user of its own, with two contexts: lab, the current one, and prod.
func user(t *testing.T) (prodToken string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for _, name := range []string{"SERVER", "CA", "TOKEN", "TOKEN_FILE", "CONTEXT", "NAMESPACE"} {
		t.Setenv("TASKRT_"+name, "")
		if err := os.Unsetenv("TASKRT_" + name); err != nil {
			t.Fatal(err)
		}
	}
	s, err := contexts.OfUser()
	if err != nil {
		t.Fatal(err)
	}
	prodToken = trust.DrawToken().Text()
	prod := &contexts.Context{Servers: []string{"https://prod:1", "https://prod:2"}, CA: pin, Token: prodToken, Namespace: "team-a", Cluster: "c1"}
	err = s.Update(t.Context(), func(f *contexts.File) error {
		return errors.Join(f.Add("lab", &contexts.Context{Servers: []string{"lab:1"}}, false), f.Add("prod", prod, false))
	})
	if err != nil {
		t.Fatal(err)
	}
	return prodToken
}

// TestPrecedence: a flag wins over its variable, and both over the context, each by itself. A context is for its own servers only (SPEC A3).
func TestPrecedence(t *testing.T) {
	token := user(t)
	mine, file := trust.DrawToken().Text(), filepath.Join(t.TempDir(), "token")
	kept := trust.DrawToken().Text()
	if err := os.WriteFile(file, []byte(kept+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env, args string // of the environment: NAME=VALUE …, without TASKRT_
		want      string // URLs, namespace, token, cluster, whether a CA is set; or what an error says
	}{
		{"", "", "lab:1 default - - system"},
		{"SERVER= CONTEXT= TOKEN=", "", "lab:1 default - - system"},
		{"", "--context prod", "https://prod:1,https://prod:2 team-a PROD c1 ca"},
		{"CONTEXT=prod", "", "https://prod:1,https://prod:2 team-a PROD c1 ca"},
		{"CONTEXT=lab", "--context prod", "https://prod:1,https://prod:2 team-a PROD c1 ca"},
		{"", "--context prod --namespace b", "https://prod:1,https://prod:2 b PROD c1 ca"},
		{"CONTEXT=prod NAMESPACE=b", "", "https://prod:1,https://prod:2 b PROD c1 ca"},
		{"CONTEXT=prod NAMESPACE=b", "--namespace c", "https://prod:1,https://prod:2 c PROD c1 ca"},
		{"CONTEXT=prod TOKEN=MINE", "", "https://prod:1,https://prod:2 team-a MINE c1 ca"},
		{"CONTEXT=prod TOKEN=MINE", "--token-file FILE", "https://prod:1,https://prod:2 team-a FILE c1 ca"},
		{"CONTEXT=prod TOKEN_FILE=FILE", "", "https://prod:1,https://prod:2 team-a FILE c1 ca"},
		{"TOKEN=MINE", "", "lab:1 default MINE - system"},
		{"", "--server x:1", "x:1 default - - system"},
		{"SERVER=x:1,y:1", "", "x:1,y:1 default - - system"},
		{"SERVER=x:1", "--server y:1", "y:1 default - - system"},
		{"CONTEXT=prod", "--server x:1", "x:1 default - - system"},
		{"CONTEXT=prod TOKEN=MINE", "--server x:1 --ca " + pin, "x:1 default MINE - ca"},
		{"", "--server default:1 --token-file FILE", "default:1 default FILE - system"},
		{"", "--server x:1 --context prod", "--context and --server are both given"},
		{"SERVER=x:1", "--context prod", "context prod is meant, and TASKRT_SERVER is set"},
		{"SERVER=x:1 CONTEXT=prod", "", "context prod is meant, and TASKRT_SERVER is set"},
		{"", "--context dev", `there is no context "dev"`},
		{"CONTEXT=dev", "", `there is no context "dev"`},
		{"TOKEN=MINE TOKEN_FILE=FILE", "", "both TASKRT_TOKEN and TASKRT_TOKEN_FILE are set"},
		{"TOKEN=trt_abc", "", "TASKRT_TOKEN: "},
		{"", "--ca sha256:00", "--ca: "},
	} {
		t.Run(c.env+" "+c.args, func(t *testing.T) {
			values := strings.NewReplacer("FILE", file, "MINE", mine)
			for _, v := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv("TASKRT_"+name, values.Replace(value))
			}
			r, err := read(t, strings.Fields(values.Replace(c.args))...)
			if err != nil {
				if _, usage := errors.AsType[*keys.UsageError](err); !usage || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "trt_abc") {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			orDash := func(s string) string {
				if s == "" {
					return "-"
				}
				return s
			}
			asks, ca := "", "system"
			if r.Config.Token != nil {
				text, err := r.Config.Token()
				if err != nil {
					t.Error(err)
				}
				asks = map[string]string{token: "PROD", mine: "MINE", kept: "FILE"}[text]
			}
			if r.Config.TLS != nil {
				ca = "ca"
			}
			got := strings.Join([]string{strings.Join(r.Config.URLs, ","), r.Namespace, orDash(asks), orDash(r.Config.Cluster), ca}, " ")
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestNoContexts: whoever has no contexts, or no home, has the default server; who names a server needs no file. A file that others can read is an
// error about a file.
func TestNoContexts(t *testing.T) {
	user(t)
	store, err := contexts.OfUser()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(store.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t); err == nil || !strings.Contains(err.Error(), "chmod 600 "+store.Path()) {
		t.Errorf("open to others: %v", err)
	} else if _, usage := errors.AsType[*keys.UsageError](err); usage {
		t.Errorf("a usage error: %v", err)
	}
	if r, err := read(t, "--server", "x:1"); err != nil || r.Config.URLs[0] != "x:1" {
		t.Errorf("with a server: %v", err)
	}
	if err := os.Remove(store.Path()); err != nil {
		t.Fatal(err)
	}
	if r, err := read(t); err != nil || r.Config.URLs[0] != "default:1" {
		t.Errorf("without a file: %v", err)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	if r, err := read(t); err != nil || r.Config.URLs[0] != "default:1" {
		t.Errorf("without a home: %v", err)
	}
	if _, err := read(t, "--context", "prod"); err == nil {
		t.Error("without a home a context is found")
	}
}

// TestExplain: an error says what the context, the lack of a token, or a former version has to do with it. It stays the error that it was.
func TestExplain(t *testing.T) {
	user(t)
	prod, err := read(t, "--context", "prod")
	if err != nil {
		t.Fatal(err)
	}
	lab, err := read(t)
	if err != nil {
		t.Fatal(err)
	}
	other, err := read(t, "--server", "x:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reach *Reach
		code  string
		want  string
	}{
		{prod, api.CodeOtherCluster, "context prod is not for the cluster"},
		{prod, api.CodeUnauthenticated, "(context prod)"},
		{prod, api.CodeTokenRevoked, "(context prod)"},
		{prod, api.CodeForbidden, "forbidden: x"},
		{lab, api.CodeUnauthenticated, "--token-file FILE, set TASKRT_TOKEN"},
		{other, api.CodeUnauthenticated, "--token-file FILE, set TASKRT_TOKEN"},
		{other, api.CodeOtherCluster, "other_cluster: x"},
		{other, api.CodeNotFound, "not_found: x; the server may be of a former version"},
		{other, api.CodeTaskNotFound, "task_not_found: x"},
	} {
		err := c.reach.Explain(api.NewError(c.code, "x"))
		if !strings.Contains(err.Error(), c.want) || api.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.code, err, c.want)
		}
	}
	if prod.Explain(nil) != nil {
		t.Error("no error is one")
	}
}

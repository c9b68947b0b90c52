package grants

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secrets/smtp-password", "hunter2hunter2")
	write(t, dir+"/secrets/other", "x")
	write(t, dir+"/secrets/long", strings.Repeat("x", MaxSecret+1))
	write(t, dir+"/secrets/longest", strings.Repeat("x", MaxSecret))
	write(t, dir+"/outside", "not a secret")
	if err := os.Symlink("../outside", dir+"/secrets/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("smtp-password", dir+"/secrets/inside"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/grants.json", `{"secrets_dir":"secrets","grants":[
		{"namespace":"default","behavior":"mail-*","secrets":["smtp-*","none","l*","inside"]},{"namespace":"*","behavior":"probe"}]}`)
	g, err := Read(dir + "/grants.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		namespace, behavior, name, want string
		err                             error
	}{
		{"default", "mail-send", "smtp-password", "hunter2hunter2", nil},
		{"default", "mail-send", "inside", "hunter2hunter2", nil}, // as Kubernetes has them
		{"default", "mail-send", "longest", strings.Repeat("x", MaxSecret), nil},
		{"default", "mail-send", "none", "", ErrNotFound},
		{"default", "mail-send", "other", "", ErrDenied},
		{"default", "mail-send", "absent", "", ErrDenied}, // not even whether it is there
		{"default", "mail", "smtp-password", "", ErrDenied},
		{"tenant", "mail-send", "smtp-password", "", ErrDenied},
		{"default", "probe", "smtp-password", "", ErrDenied},
		{"default", "mail-send", "../outside", "", ErrInvalid},
		{"default", "mail-send", "..", "", ErrInvalid},
		{"default", "mail-send", "", "", ErrInvalid},
		{"default", "mail-send", "smtp-\x00", "", ErrInvalid},
		{"default", "mail-send", strings.Repeat("l", MaxName+1), "", ErrInvalid},
	} {
		got, err := g.Secret(tt.namespace, tt.behavior, tt.name)
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s/%s %.20q: %.20q, %v; want %v", tt.namespace, tt.behavior, tt.name, got, err, tt.err)
		}
	}
	for _, name := range []string{"link", "long"} { // out of the directory, over the limit
		if got, err := g.Secret("default", "mail-send", name); err == nil || errors.Is(err, ErrNotFound) || len(got) > 0 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if !g.Secrets("default", "mail-x") || g.Secrets("default", "probe") || g.Secrets("tenant", "mail-x") {
		t.Error("Secrets is wrong")
	}
	write(t, dir+"/secrets/smtp-password", "rotated!")
	if got, _ := g.Secret("default", "mail-send", "smtp-password"); string(got) != "rotated!" {
		t.Errorf("after a change: %q", got)
	}
	var none *Grants
	if _, err := none.Secret("default", "mail-send", "smtp-password"); !errors.Is(err, ErrDenied) || none.Secrets("default", "x") {
		t.Errorf("no grants: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", "")
	for text, naming := range map[string]string{
		``: "EOF", `[]`: "array", `{}{}`: "more behind", `{"grant":[]}`: "grant",
		`{"grants":[{"namespace":"d","behavior":"b","secret":["x"]}]}`:                                                       "secret",
		`{"grants":[{"behavior":"b"}]}`:                                                                                      "grants[0].namespace",
		`{"grants":[{"namespace":"d"}]}`:                                                                                     "grants[0].behavior",
		`{"grants":[{"namespace":"a/b","behavior":"b"}]}`:                                                                    "grants[0].namespace",
		`{"grants":[{"namespace":"d","behavior":"[a]"}]}`:                                                                    "grants[0].behavior",
		`{"grants":[{"namespace":"d","behavior":"b","secrets":["s"]}]}`:                                                      "secrets_dir: missing",
		`{"secrets_dir":".","grants":[{"namespace":"d","behavior":"b","secrets":["ok","../x"]}]}`:                            "grants[0].secrets[1]",
		`{"grants":[{"namespace":"d","behavior":"b","tasks":["ok","../x"]}]}`:                                                "grants[0].tasks[1]",
		`{"grants":[{"namespace":"d","behavior":"b","tasks":[` + strings.Repeat(`"x",`, MaxNames) + `"x"]}]}`:                "grants[0].tasks: 101, at most 100",
		`{"secrets_dir":"none","grants":[]}`:                                                                                 "secrets_dir",
		`{"secrets_dir":"file","grants":[]}`:                                                                                 "no directory",
		`{"grants":[` + strings.Repeat(`{"namespace":"d","behavior":"b"},`, MaxRules) + `{"namespace":"d","behavior":"b"}]}`: "at most 1000",
		strings.Repeat(" ", MaxFile+1):                                                                                       "more than",
	} { // order-free: independent texts
		if _, err := Parse([]byte(text), dir); err == nil || !strings.Contains(err.Error(), naming) {
			t.Errorf("%.60s: %v, want %q", text, err, naming)
		}
	}
	if _, err := Read(dir + "/absent"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// TestReplace: an operator changes what is granted while it is asked for. What is taken back is denied from then on.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a", "1")
	write(t, dir+"/b", "2")
	parse := func(text string) *Grants {
		g, err := Parse([]byte(text), dir)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := parse(`{"secrets_dir":".","grants":[{"namespace":"d","behavior":"b","secrets":["a"],"tasks":["x"],"http":[{"hosts":["h"]}]}]}`)
	asks := func(wantA, wantB error) {
		t.Helper()
		if _, err := g.Secret("d", "b", "a"); !errors.Is(err, wantA) {
			t.Errorf("secret a: %v, want %v", err, wantA)
		}
		if _, err := g.Secret("d", "b", "b"); !errors.Is(err, wantB) {
			t.Errorf("secret b: %v, want %v", err, wantB)
		}
	}
	asks(nil, ErrDenied)
	g.Replace(parse(`{"secrets_dir":".","grants":[{"namespace":"d","behavior":"b","secrets":["b"]}]}`))
	asks(ErrDenied, nil)
	if g.Tasks("d", "b", "x") || len(g.HTTP("d", "b")) > 0 || g.AnyTasks("d", "b") {
		t.Error("what was granted before is granted still")
	}
	g.Replace(nil)
	asks(ErrDenied, ErrDenied)
}

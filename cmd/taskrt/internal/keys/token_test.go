package keys

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/trust"
)

// TestWorkerTokens: a worker asks with the token that it is given, then with those of its secrets, as the files are when it asks. With neither
// it has none (SPEC A2, A4).
func TestWorkerTokens(t *testing.T) {
	first, second, given := trust.Draw(), trust.Draw(), trust.DrawToken().Text()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	both := []trust.Secret{first, second}
	workers := file("worker.secret", first.Worker(both).Text()+"\n"+second.Worker(both).Text())
	cluster := file("cluster.secret", first.Text())
	token := file("token", given)
	ofFirst, ofSecond := first.Worker(both).Token().Text(), second.Worker(both).Token().Text()
	for _, c := range []struct {
		secret, file, variable string
		want                   []string
	}{
		{"", "", "", nil},
		{workers, "", "", []string{ofFirst, ofSecond}},
		{cluster, "", "", []string{ofFirst}},
		{"", token, "", []string{given}},
		{"", "", given, []string{given}},
		{workers, token, "", []string{given, ofFirst, ofSecond}},
		{workers, token, ofFirst, []string{given, ofFirst, ofSecond}}, // a flag wins
	} {
		t.Setenv(TokenVariable, c.variable)
		var keys *trust.Keys
		if c.secret != "" {
			var err error
			if keys, err = trust.Open(trust.Config{ID: "w1", Role: mux.Worker, Secret: c.secret}); err != nil {
				t.Fatal(err)
			}
		}
		var tokens func() ([]string, error)
		app := &cli.App{
			Flags: []cli.Flag{TokenFlag(func(name, value, usage string) cli.Flag {
				return &cli.StringFlag{Name: name, Value: value, Usage: usage}
			})},
			Action: func(ctx *cli.Context) (err error) {
				tokens, err = WorkerTokens(ctx, keys)
				return err
			},
		}
		if err := app.Run([]string{"taskrt", "--token-file", c.file}); err != nil {
			t.Fatal(err)
		}
		if err := HideToken(); err != nil || slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, TokenVariable+"=") }) {
			t.Errorf("what this process starts gets its token: %v", err)
		}
		if c.want == nil {
			if tokens != nil {
				t.Error("tokens of nothing")
			}
			continue
		}
		if got, err := tokens(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %d tokens, %v", c, len(got), err)
		}
	}
}

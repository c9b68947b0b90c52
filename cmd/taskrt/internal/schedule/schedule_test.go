package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/node/scheduled"
)

// read reads a command line with the flags.
func read(t *testing.T, args ...string) (config scheduled.Config, err error) {
	t.Helper()
	app := &cli.App{
		Flags: Flags(Kit{
			String: func(_, name, value, _ string, _ ...string) cli.Flag { return &cli.StringFlag{Name: name, Value: value} },
			Int:    func(_, name string, value int, _ string) cli.Flag { return &cli.IntFlag{Name: name, Value: value} },
			List:   func(_, name, _ string) cli.Flag { return &cli.StringSliceFlag{Name: name} },
		}),
		Action: func(c *cli.Context) error { config, err = Read(c); return nil },
	}
	if err := app.Run(append([]string{"server"}, args...)); err != nil {
		t.Fatal(err)
	}
	return config, err
}

// TestRead: flags that make no sense are refused by name (SPEC C8).
func TestRead(t *testing.T) {
	t.Parallel()
	const key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	if config, err := read(t); err != nil || config.Target != nil {
		t.Errorf("nothing: %+v, %v", config, err)
	}
	config, err := read(t, "--backup-to", "/backups")
	if err != nil || config.Target.String() != "/backups" || config.Every != 24*time.Hour || config.Keep != 14 || config.Rate != 32<<20 || config.Seal != nil || config.Validate() != nil {
		t.Errorf("%+v, %v", config, err)
	}
	first, err := read(t, "--backup-to", "s3://b/p", "--backup-every", "1s", "--backup-keep", "1", "--backup-rate", "1", "--backup-encrypt-to", key, "--backup-encrypt-to", key)
	if err != nil || first.Every != time.Second || first.Keep != 1 || first.Rate != 1<<20 || first.Seal == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := read(t, "--backup-to", "s3://b/p", "--backup-encrypt-to", key); err != nil || again.Seal.Tag != first.Seal.Tag {
		t.Errorf("the same keys have the tags %x and %x, %v", first.Seal.Tag, again.Seal.Tag, err)
	}
	for want, args := range map[string][]string{
		"--backup-keep needs --backup-to":                  {"--backup-keep", "3"},
		"--backup-every must be at least 1s":               {"--backup-to", "/b", "--backup-every", "999ms"},
		"--backup-every: \"soon\" is not a duration":       {"--backup-to", "/b", "--backup-every", "soon"},
		"--backup-keep must be at least 1":                 {"--backup-to", "/b", "--backup-keep", "0"},
		"--backup-rate must be at least 1":                 {"--backup-to", "/b", "--backup-rate", "0"},
		"--backup-encrypt-to: \"age1no\" is no public key": {"--backup-to", "/b", "--backup-encrypt-to", "age1no"},
		"--backup-to: gs:// is no place":                   {"--backup-to", "gs://b"},
		"--backup-to: s3:///p names no bucket":             {"--backup-to", "s3:///p"},
	} {
		if _, err := read(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/form"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/reach"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// client is one connection to a cluster, with the way to print its answers.
type client struct {
	*program
	*apiclient.Client

	config    apiclient.Config
	reach     *reach.Reach
	form      form.Form
	ctx       context.Context // of one command
	meta      *api.Meta
	json      bool          // for programs, in whatever form
	answers   *form.Printer // of what is answered to programs
	columns   terminal.Columns
	namespace string
	files     show.Files   // nil: results that are blobs are shown as references
	sent      atomic.Int64 // bytes of the body that is on its way; see show.Sending
}

// client makes the client of a command and runs do with it.
func (p *program) client(do func(*cli.Context, *client) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		f, columns, err := wantedForm(c)
		if err != nil {
			return err
		}
		to, err := reach.Read(c, serverURLs(c), p.complain)
		if err != nil {
			return keyError(c, err)
		}
		cl := &client{
			program: p, config: to.Config, reach: to, namespace: to.Namespace,
			json: !f.IsTable(), answers: form.New(f, p.stdout), columns: columns, form: f,
		}
		config := to.Config
		config.Sent = cl.sent.Store
		if cl.Client, err = apiclient.New(config); err != nil {
			return usagef(c, "--server: %w", err)
		}
		defer cl.Close()
		if !c.Bool("raw-ref") {
			cl.files = cl.Client
		}
		cl.ctx, cl.meta = api.WithMeta(c.Context)
		return to.Explain(do(c, cl))
	}
}

// print shows the last answer: in the form that programs want, or the columns that table writes.
func (c *client) print(table func(*terminal.Table)) error {
	if c.json {
		return c.printJSON()
	}
	return c.stdout.TableOf(c.columns, table)
}

// printJSON writes the last answer for a program, if a program asks.
func (c *client) printJSON() error {
	if !c.json {
		return nil
	}
	return c.answers.Write(c.meta.Body())
}

// toProgram writes answers to a program; nil: people read them.
func (c *client) toProgram() func(answer []byte) error {
	if !c.json {
		return nil
	}
	return c.answers.Write
}

// encodeJSON writes JSON of commands whose answer has no other form for programs.
func (p *program) encodeJSON(v any, indent string) error {
	out := json.NewEncoder(p.stdout.Exact())
	out.SetEscapeHTML(false)
	out.SetIndent("", indent)
	return out.Encode(v)
}

// logger makes the log of a command that runs for long.
func (p *program) logger(c *cli.Context) (*slog.Logger, error) {
	s, err := readLogSettings(c, c.String("log-level"))
	return p.openLog(s), err
}

func (p *program) openLog(s guests.LogSettings) *slog.Logger { return s.Open(p.stderr.Exact()) }

// quietLogSettings is readLogSettings with another default, which leaves the terminal to the command's own lines.
func quietLogSettings(c *cli.Context) (guests.LogSettings, error) {
	if c.IsSet("log-level") {
		return readLogSettings(c, c.String("log-level"))
	}
	return readLogSettings(c, slog.LevelError.String())
}

func readLogSettings(c *cli.Context, level string) (s guests.LogSettings, err error) {
	s.Level = new(slog.LevelVar)
	if err := s.Level.UnmarshalText([]byte(level)); err != nil {
		return s, usagef(c, "--log-level must be debug, info, warn or error, not %q", level)
	}
	switch f := lower(c, "log-format"); f {
	case "text":
	case "json":
		s.JSON = true
	default:
		return s, usagef(c, "--log-format must be text or json, not %q", f)
	}
	return s, nil
}

package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
)

func (p *program) watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "print every change of a task until it is final", ArgsUsage: "ID", Category: "tasks",
		Flags:  clientFlags(),
		Action: p.client(watch),
	}
}

// watch follows the rev of a task by long polls. States that follow each other faster than a poll may be skipped, the
// last one never.
func watch(c *cli.Context, cl *client) error {
	var o api.GetOptions
	for rev := uint64(0); ; {
		t, err := cl.Task(cl.ctx, cl.namespace, c.Args().First(), o)
		if err != nil {
			return err
		}
		if t.Rev != rev {
			if err := cl.printChange(t); err != nil {
				return err
			}
		}
		if t.Final {
			return failed(t)
		}
		rev = t.Rev
		o = api.GetOptions{Wait: maxWait, Until: fmt.Sprintf("rev:%d", rev+1)}
	}
}

func (c *client) printChange(t *api.Task) error {
	if c.json {
		return c.printJSON()
	}
	line := fmt.Sprintf("%s  rev %d  %s", api.Time{Time: time.Now()}, t.Rev, state(t))
	if t.Progress != nil {
		line += "  " + clip(t.Progress, 100)
	}
	_, err := fmt.Fprintln(c.stdout, line)
	return err
}

// failed is exit code 1 without another word for a task that failed.
func failed(t *api.Task) error {
	if t.Status == "FAILURE" {
		return &exitError{code: exitTaskFailed}
	}
	return nil
}

package snapshots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/node/scheduled"
)

// Status is what a cluster says of the backups that its servers make by themselves.
type Status struct {
	Cluster string          `json:"cluster"` // whose backups they are; until its first one, a restored cluster knows the former cluster's
	Target  string          `json:"target"`
	Last    *scheduled.Last `json:"last"` // null: none was made yet
	State   string          `json:"status"`
	Next    *api.Time       `json:"next_run,omitempty"`
	Attempt int64           `json:"attempt"`
	Error   *api.TaskError  `json:"error,omitempty"`
}

// scheduledTask returns the task that makes backups.
func scheduledTask(ctx context.Context, cl *apiclient.Client, o api.GetOptions) (*api.Task, error) {
	t, err := cl.Task(ctx, scheduled.Key().Namespace, scheduled.Task, o)
	if api.CodeOf(err) == api.CodeTaskNotFound {
		return nil, fmt.Errorf("%s (%w)", scheduled.NotScheduled, err)
	}
	return t, err
}

func runStatus(_ *cli.Context, ctx context.Context, cl *apiclient.Client, out terminal.Answer) error { //nolint:revive // a cli.Context comes first everywhere
	t, err := scheduledTask(ctx, cl, api.GetOptions{})
	if err != nil {
		return err
	}
	s := &Status{State: t.Status, Next: t.NotBefore, Attempt: t.Attempt, Error: t.Error}
	records, err := api.CollectStore(cl.StoreGroup(ctx, scheduled.Key().Namespace, scheduled.Group, 0, true))
	if err != nil {
		return err
	}
	for _, x := range records {
		var r scheduled.Record
		if err := json.Unmarshal([]byte(x.Data), &r); err == nil {
			s.Cluster, s.Target, s.Last = r.Cluster, r.Target, r.Last
		}
	}
	return out.Show(s, func(w *terminal.Table) {
		w.Field("cluster", show.OrDash(s.Cluster))
		w.Field("target", show.OrDash(s.Target))
		if b := s.Last; b != nil {
			w.Field("last backup", fmt.Sprintf("%s, %s, by %s", b.Name, show.Ago(api.Time{Time: b.Finished}), b.Node))
			w.Field("took", b.Finished.Sub(b.Began).Round(time.Millisecond))
			w.Field("index", b.Index)
			w.Field("size", fmt.Sprintf("%s, %s of it new", show.Bytes(b.Bytes), show.Bytes(b.NewBytes)))
			w.Field("blobs", fmt.Sprintf("%d, %d of them new", b.Blobs, b.New))
			w.Field("note", show.OrDash(b.Note))
		} else {
			w.Field("last backup", "none yet")
		}
		w.Field("task", show.State(t))
		if s.Error != nil {
			w.Field("error", show.Error(s.Error))
		}
	})
}

// oneWait is how long one request waits for the end of an attempt.
const oneWait = 30 * time.Second

func nowCommand(k Kit) *cli.Command {
	const cmd = "now"
	return &cli.Command{
		Name: cmd, Usage: "let the servers back the cluster up to --backup-to now", Flags: k.ClientFlags(k.Bool(cmd, "wait", "wait until it is there")),
		Action: k.online(func(c *cli.Context, ctx context.Context, cl *apiclient.Client, out terminal.Answer) error {
			asked, err := apiclient.NewSnapshots(cl).Begin(ctx)
			if err != nil {
				return err
			}
			if !c.Bool("wait") {
				return out.Show(asked, func(w *terminal.Table) { w.Field("attempt", asked.Attempt) })
			}
			last, failed, err := await(ctx, cl, asked.Attempt)
			switch {
			case err != nil:
				return err
			case failed != nil:
				return exit.With(exit.TaskFailed, errors.New(show.Error(failed)))
			}
			return out.Show(last, func(w *terminal.Table) {
				w.Field("backup", last.Name)
				w.Field("index", last.Index)
				w.Field("size", fmt.Sprintf("%s, %s of it new", show.Bytes(last.Bytes), show.Bytes(last.NewBytes)))
			})
		}),
	}
}

// await waits for the end of an attempt at the task, or of the attempt that takes it over.
func await(ctx context.Context, cl *apiclient.Client, attempt int64) (last *scheduled.Last, failed *api.TaskError, err error) {
	for {
		t, err := scheduledTask(ctx, cl, api.GetOptions{Wait: oneWait, Until: fmt.Sprintf("attempt:%d", attempt)})
		switch {
		case err != nil:
			return nil, nil, err
		case t.Attempt < attempt || t.Lease != nil && t.Attempt == attempt:
		case t.Error != nil:
			return nil, t.Error, nil
		case t.Result != nil:
			last = new(scheduled.Last)
			return last, nil, json.Unmarshal(t.Result, last)
		default: // it was lost, or runs again already
			attempt = t.Attempt + 1
		}
	}
}

// Package follow prints what changes in a cluster as it changes: the log of a task that runs (SPEC U3).
package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/idle"
)

// Cluster answers what is asked while a log is followed.
type Cluster interface {
	Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error)
	Logs(ctx context.Context, namespace, id string, g api.LogsGet) (*api.LogsReply, error)
}

const (
	// pulse is how often a worker sends what an attempt has logged.
	pulse = time.Second
	// patience is how long a look waits that is repeated all the same.
	patience = time.Minute
	// settling is how long the disk of a leader takes, at most, to keep what came with the end of an attempt.
	settling = 300 * time.Millisecond
)

// Log is the log of one task.
type Log struct {
	Of            Cluster
	Namespace, ID string

	at     api.LogsGet // where it goes on
	former bool        // the server answers whole logs only
}

// Follow hands on what the attempts of the task have logged, and what they log, until the task is final or ctx ends. It goes on while nobody leads.
func (l *Log) Follow(ctx context.Context, show func(api.AttemptLog) error) error {
	o := api.GetOptions{Wait: patience, Until: "rev:1"}
	for {
		t, err := l.Of.Task(ctx, l.Namespace, l.ID, o)
		if err == nil {
			if t.Final { // what came last may be on its way to the disk
				idle.For(ctx, settling)
			}
			err = l.more(ctx, show)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case client.Passes(err):
			idle.For(ctx, pulse)
		case err != nil || t.Final:
			return err
		case t.Lease != nil:
			o = api.GetOptions{Wait: pulse, Until: fmt.Sprintf("attempt:%d", t.Attempt)}
		default:
			o = api.GetOptions{Wait: patience, Until: fmt.Sprintf("rev:%d", t.Rev+1)}
		}
	}
}

// more hands on what is new.
func (l *Log) more(ctx context.Context, show func(api.AttemptLog) error) error {
	reply, err := l.read(ctx)
	if err != nil {
		return err
	}
	for _, a := range reply.Attempts {
		l.at = api.LogsGet{FromToken: a.Token, FromOffset: a.End}
		if a.Text == "" {
			continue
		}
		if err := show(a); err != nil {
			return err
		}
	}
	return nil
}

// read asks for what is new. A server of 0.1.0 answers all of the log, of which the rest is taken.
func (l *Log) read(ctx context.Context) (*api.LogsReply, error) {
	if !l.former {
		reply, err := l.Of.Logs(ctx, l.Namespace, l.ID, l.at)
		if l.former = api.CodeOf(err) == api.CodeUnknownField; !l.former {
			if err == nil && l.at == (api.LogsGet{}) {
				reply.Attempts = l.rest(reply.Attempts) // whoever has answered
			}
			return reply, err
		}
	}
	reply, err := l.Of.Logs(ctx, l.Namespace, l.ID, api.LogsGet{})
	if err == nil {
		reply.Attempts = l.rest(reply.Attempts)
	}
	return reply, err
}

// rest is what stands behind the place where the log goes on, with the ends that a former server does not tell.
func (l *Log) rest(all []api.AttemptLog) (some []api.AttemptLog) {
	for _, a := range all {
		if a.End == 0 {
			a.End = int64(len(a.Text))
		}
		switch {
		case a.Token < l.at.FromToken:
			continue
		case a.Token == l.at.FromToken:
			a.Text = a.Text[min(l.at.FromOffset, int64(len(a.Text))):]
		}
		some = append(some, a)
	}
	return some
}

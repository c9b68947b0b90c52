package maintain

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/task"
)

// logKind is for the logs of tasks' attempts on the disks of members. A log is kept as long as its task. A member that
// is up removes the log of a task that goes. So the logs that are left belong to tasks that went while the member was
// down.
type logKind struct{}

func (logKind) Name() string { return "log" }

func (logKind) Mark(context.Context, *Run, func(Object) error) error { return nil }

func (logKind) Retains(*Run, Object, func(Object) error) error { return nil }

func logObject(k task.Key) Object { return Object{Kind: "log", Name: logs.Name(k)} }

func (logKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	return r.eachFile(ctx, LogFiles, func(member string, fs []File) error {
		for _, f := range fs {
			o := f.object("log")
			if r.filter.has(&o) {
				r.retained(&o)
				continue
			}
			o.Name = memberName(member, f.Name) // no mark has such a name
			if err := found(o); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete asks the members to drop logs. The members look at the token and at the age themselves.
func (logKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	byMember := map[string][]string{}
	for _, o := range os {
		member, name, _ := cutMember(o.Name)
		byMember[member] = append(byMember[member], name)
	}
	done := int64(0)
	for member, names := range byMember {
		n, err := r.disks.DropLogs(ctx, member, r.job.Token, r.Before, names)
		done += n
		switch {
		case errors.Is(err, ErrUnreachable):
			r.note("%s did not drop %d logs: %v", member, len(names), err)
		case err != nil:
			return done, fmt.Errorf("logs of %s: %w", member, err)
		}
	}
	return done, nil
}

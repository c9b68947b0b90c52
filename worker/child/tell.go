package child

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

const (
	tellPatience = 15 * time.Second // for a leader; without a leader no session can be opened either
	tellPause    = 200 * time.Millisecond
	answerTime   = 5 * time.Second
)

// Tell has the cluster end the session of a child that is dead, for a parent that is no member of the cluster: over a connection as workers have
// them. It tries until a leader has decided. The error says why no leader has decided.
func Tell(ctx context.Context, dial worker.Dialer, c task.CrashSession) error {
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	for {
		err := tellOnce(ctx, dial, c)
		if err == nil || ctx.Err() != nil {
			return err
		}
		idle.For(ctx, tellPause)
	}
}

func tellOnce(ctx context.Context, dial worker.Dialer, c task.CrashSession) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	nc, err := dial.Dial(ctx)
	if err != nil {
		return err
	}
	conn, err := stream.New(nc, stream.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err = conn.Send(stream.Frame{Crash: &c})
	if err != nil {
		return err
	}
	f, err := conn.Recv()
	switch {
	case err != nil:
		return err
	case f.Goodbye != nil:
		return nil
	case f.Refused == nil:
		return fmt.Errorf("%w: no answer to Crash", stream.ErrBadFrame)
	case f.Refused.Code == stream.NotLeader:
		if f.Refused.Leader != "" {
			dial.Redirect(f.Refused.Leader)
		}
		return fmt.Errorf("child: %s", f.Refused.Message)
	}
	return nil // the session has ended already, or is another's: nothing is left to do
}

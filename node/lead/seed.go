package lead

import (
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// seedPause is how long a leader waits before it tries again to set up what is built in.
const seedPause = time.Second

// seed sets up maintenance as this node is configured, once per term. Usually there is nothing to do.
func (t *term) seed() {
	for t.ctx.Err() == nil {
		var cmds []task.Command
		var err error
		t.hub.cfg.Store.Local(func(m *task.Machine) { cmds, err = maintain.Seeds(m, t.hub.cfg.Maintenance, false) })
		if err != nil {
			t.hub.cfg.Logger.Error("maintenance cannot be set up", "err", err)
			return
		}
		if len(cmds) == 0 {
			return
		}
		rs, err := t.hub.cfg.Store.ProposeLocal(t.ctx, cmds...)
		for i := range rs {
			if rs[i].Code != task.OK {
				t.hub.cfg.Logger.Error("maintenance was not set up", "code", rs[i].Code, "reason", rs[i].Message)
				return
			}
		}
		if err == nil {
			return
		}
		idle.For(t.ctx, seedPause)
	}
}

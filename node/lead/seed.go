package lead

import (
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// seedPause is how long a leader waits before it tries again to set up built-in behaviors.
const seedPause = time.Second

// seed sets up the built-in behaviors, as this node is configured, once per term. Usually there is nothing to do.
func (t *term) seed() {
	t.seedOne("maintenance", func(m *task.Machine) ([]task.Command, error) { return maintain.Seeds(m, t.hub.cfg.Maintenance, false) })
	if t.hub.cfg.Backups != nil {
		t.seedOne("backup", t.hub.cfg.Backups)
	}
}

// seedOne sets up one behavior.
func (t *term) seedOne(what string, seeds func(*task.Machine) ([]task.Command, error)) {
	for t.ctx.Err() == nil {
		var cmds []task.Command
		var err error
		t.hub.cfg.Store.Local(func(m *task.Machine) { cmds, err = seeds(m) })
		if err != nil {
			t.hub.cfg.Logger.Error(what+" cannot be set up", "err", err)
			return
		}
		if len(cmds) == 0 {
			return
		}
		rs, err := t.hub.cfg.Store.ProposeLocal(t.ctx, cmds...)
		for i := range rs {
			if rs[i].Code != task.OK {
				t.hub.cfg.Logger.Error(what+" was not set up", "code", rs[i].Code, "reason", rs[i].Message)
				return
			}
		}
		if err == nil {
			return
		}
		idle.For(t.ctx, seedPause)
	}
}

package wait

import "github.com/taskrt/taskrt/task"

// lapsed tells of an attempt that ended, once: the end of an external lease is a change of its task, too.
func (d *Dispatcher) lapsed(t *task.Task, l *task.Lease) {
	if d.told.Lapsed == nil || t == nil || t.Trace == "" || l == nil || len(t.History) == 0 || t.History[len(t.History)-1].Token != l.Token {
		return
	}
	d.told.Lapsed(t)
}

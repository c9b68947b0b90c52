package subproc

import "sync"

// children are the children of this process that Start has started, and that Start waits for. The kernel keeps one table of children for a process,
// so this one is the process's, too.
var children = brood{all: map[int]*Process{}}

type brood struct {
	mu  sync.Mutex // held while a child is started, so that nobody takes it for a stranger's
	all map[int]*Process
}

// start starts a child and takes it in.
func (b *brood) start(p *Process) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	b.all[p.PID()] = p
	return nil
}

// forget is told of a child that has been reaped. Another process may have its number by now.
func (b *brood) forget(p *Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[p.PID()] == p {
		delete(b.all, p.PID())
	}
	close(p.done)
}

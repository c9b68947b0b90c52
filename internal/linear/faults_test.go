package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/trio"
)

// faults strikes the cluster, one fault after the other, until ctx ends. When it returns the cluster is whole again.
// The seed decides the order and the length of the faults. It does not decide what they meet, because these are real
// processes.
func (c *cluster) faults(ctx context.Context, seed uint64) (struck []string) {
	r := rand.New(rand.NewPCG(seed, 0xfa17))
	for idle.For(ctx, time.Duration(500+r.IntN(2000))*time.Millisecond) {
		if what := c.fault(ctx, r); what != "" {
			struck = append(struck, what)
		}
	}
	return struck
}

// fault strikes the cluster once, and says how; "" if there was nothing to strike.
func (c *cluster) fault(ctx context.Context, r *rand.Rand) string {
	victim := r.IntN(hosts)
	if l := c.leader(); l >= 0 && r.IntN(2) == 0 {
		victim = l
	}
	kinds := 7
	if c.lab.partitions() {
		kinds = 9
	}
	long := time.Duration(300+r.IntN(3500)) * time.Millisecond
	what := ""
	switch r.IntN(kinds) {
	case 0:
		what = "kill -9"
		c.kill9(victim)
		idle.For(ctx, long)
		c.start(victim)
	case 1:
		what = "SIGSTOP"
		c.signal(victim, syscall.SIGSTOP)
		idle.For(ctx, long)
		c.signal(victim, syscall.SIGCONT)
	case 2:
		if r.IntN(3) > 0 {
			return ""
		}
		what = "kill -9 of all"
		for i := range hosts {
			c.kill9(i)
		}
		for i := range hosts {
			c.start(i)
		}
		idle.For(ctx, 2*time.Second)
	case 3: // the node lives on, whatever happens to its guests (SPEC L5)
		guests, found := trio.Guests(c.nodes[victim].cmd.Process.Pid)
		if !found {
			return ""
		}
		how := []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGSTOP}[r.IntN(3)]
		what = fmt.Sprint("signal ", int(how), " of the guests of")
		_ = syscall.Kill(guests, how) // the process may have ended by itself
	case 4:
		if !c.knowsCopies {
			return ""
		}
		what = "a copy beside"
		c.copyBeside(victim)
	case 5:
		if !c.knowsCopies {
			return ""
		}
		what = "an older copy in the place of the directory"
		lost := r.IntN(3) == 0
		if lost {
			what += ", which is lost, of"
		}
		c.restore(ctx, victim, long, lost)
	case 6:
		if !c.knowsCopies || r.IntN(2) > 0 {
			return ""
		}
		what = "removal, and approval of a new"
		c.replace(victim)
	case 7:
		what = "isolation"
		c.isolate(victim, c.lab.cut)
		idle.For(ctx, long)
		c.isolate(victim, c.lab.heal)
	case 8:
		what = "one-way cut"
		other := (victim + 1 + r.IntN(hosts-1)) % hosts
		c.lab.cut(victim, other)
		idle.For(ctx, long)
		c.lab.heal(victim, other)
	}
	return fmt.Sprintf("%s n%d", what, victim+1)
}

// isolate cuts or heals every way between a node and the others. Clients still reach the node.
func (c *cluster) isolate(victim int, do func(from, to int)) {
	for other := range hosts {
		if other != victim {
			do(victim, other)
			do(other, victim)
		}
	}
}

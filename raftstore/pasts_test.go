package raftstore

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/task"
)

var (
	pasts     = flag.Int("pasts", 6, "how many random schedules TestRandomPasts runs")
	pastsSeed = flag.Uint64("pasts.seed", 1, "seed of the first of them; the next ones count up")
)

// TestRandomPasts: disks are set back block by block, and run beside their originals, between honest ends and starts of any of three nodes. What
// can be told is refused, what is honest is not, and nothing that was acknowledged is lost (SPEC C7).
func TestRandomPasts(t *testing.T) {
	for seed := range uint64(*pasts) {
		seed += *pastsSeed
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			bubbleFor(t, time.Hour, func(t *testing.T, c *cluster) {
				p := &pastsRun{c: c, ms: confirmedThree(c), rng: rand.New(rand.NewPCG(seed, 0xc7)), starts: map[*member]int{}}
				defer func() {
					if t.Failed() {
						t.Logf("what happened: %q", p.story)
					}
				}()
				for range 14 {
					p.step()
				}
				c.agree()
				for _, m := range p.ms {
					for _, id := range p.acked {
						if !c.has(m.store, id) {
							t.Errorf("%s has lost %s, which was acknowledged", m.id, id)
						}
					}
				}
			})
		})
	}
}

// pastsRun is one schedule of TestRandomPasts.
type pastsRun struct {
	c       *cluster
	ms      []*member
	rng     *rand.Rand
	acked   []string
	starts  map[*member]int // how often a node was started again
	backups []backup
	story   []string
}

// backup is a copy of a disk, with what tells it from the disk as it is later.
type backup struct {
	of     *member
	dir    string
	starts int     // of the node, by then
	led    *member // who led
	term   uint64
	acked  int // how much had been acknowledged
}

func (p *pastsRun) note(format string, args ...any) {
	p.story = append(p.story, fmt.Sprintf(format, args...))
}

func (p *pastsRun) step() {
	m := p.ms[p.rng.IntN(len(p.ms))]
	switch p.rng.IntN(6) {
	case 0:
		p.restart(m)
	case 1:
		p.note("all end")
		for _, m := range p.ms {
			p.c.stop(m)
		}
		for _, i := range p.rng.Perm(len(p.ms)) {
			p.start(p.ms[i])
		}
		p.confirmed()
	case 2:
		p.beside(m)
	default: // what is older is the point
		if len(p.backups) > 0 && p.rng.IntN(2) == 0 {
			p.setBack(p.backups[p.rng.IntN(len(p.backups))])
			break
		}
		leader := p.c.leader()
		b := backup{of: m, dir: fmt.Sprintf("%s.backup%d", m.dir, len(p.backups)), starts: p.starts[m], led: leader, term: leader.store.raft.CurrentTerm(), acked: len(p.acked)}
		p.c.backupTo(m, b.dir)
		p.backups = append(p.backups, b)
		p.note("copy %s", m.id)
	}
	for range 1 + p.rng.IntN(3) {
		id := fmt.Sprint("task", len(p.acked))
		p.c.propose(p.ms[p.rng.IntN(len(p.ms))].store, submit(id, task.Join))
		p.acked = append(p.acked, id)
	}
	p.c.agree()
}

func (p *pastsRun) start(m *member) {
	p.c.start(m, 3, joins...)
	p.starts[m]++
}

// confirmed waits until everybody knows all starts.
func (p *pastsRun) confirmed() {
	p.c.leader()
	p.c.awaitConfirmed(p.ms)
}

// end ends a node, cleanly or not.
func (p *pastsRun) end(m *member) {
	if p.rng.IntN(2) == 0 {
		p.c.crash(m)
		p.c.net.HealAll()
	} else {
		p.c.stop(m)
	}
}

func (p *pastsRun) restart(m *member) {
	p.note("%s ends and starts", m.id)
	p.end(m)
	p.start(m)
	p.confirmed()
}

// setBack puts a backup in the place of a disk, if the others can tell: the node has started since; or it has acknowledged something since, to
// a leader that leads still. Afterwards the node has its disk again, or an empty one.
func (p *pastsRun) setBack(b backup) {
	m := b.of
	leader := p.c.leader()
	saw := leader == b.led && leader != m && leader.store.raft.CurrentTerm() == b.term && len(p.acked) > b.acked
	if p.starts[m] == b.starts && !saw {
		return
	}
	p.note("the disk of %s is set back", m.id)
	p.end(m)
	now := p.c.backupTo(m, m.dir+".now")
	p.c.rollBack(m, b.dir)
	p.c.refuses(m, members.ErrSuperseded)
	if p.rng.IntN(3) == 0 {
		p.note("%s gets an empty disk", m.id)
		p.remove(m.dir)
	} else {
		p.c.rollBack(m, now)
	}
	p.remove(now)
	p.start(m)
	p.c.await(m.id+" votes with this disk", func() bool { // or the next disk that is lost would be the second one
		return slices.Contains(p.c.leader().store.raft.Servers(), raft.Server{ID: raft.ServerID(m.id), Address: raft.ServerAddress(m.store.identity), Suffrage: raft.Voter})
	})
	p.confirmed()
}

// beside starts a copy of a disk beside it, as it is now.
func (p *pastsRun) beside(m *member) {
	p.note("a copy of %s is started beside it", m.id)
	twin := p.c.add(m.id+"-twin", nil)
	twin.id = m.id
	p.c.rollBack(twin, p.c.backup(m))
	p.c.start(twin, 3, joins...)
	if err := p.c.ends(twin); !errors.Is(err, members.ErrDuplicateID) && !errors.Is(err, members.ErrSuperseded) {
		p.c.t.Errorf("a copy beside its original: %v", err)
	}
	delete(p.c.nodes, m.id+"-twin")
	p.remove(m.dir + ".backup")
	p.remove(twin.dir)
	if err := m.store.failure(); err != nil {
		p.c.t.Errorf("%s: %v", m.id, err)
	}
}

func (p *pastsRun) remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		p.c.t.Error(err)
	}
}

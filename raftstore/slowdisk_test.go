package raftstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestLeadersDiskIsBehind: a majority counts an entry together with the leader, and the leader's disk does not have it
// yet. No node shows the entry. When the disk has it, everybody hears of it. If the leader dies first, the command is
// proposed again and happens once.
func TestLeadersDiskIsBehind(t *testing.T) {
	for _, dies := range []bool{false, true} {
		eachLogStore(t, func(t *testing.T, c *cluster) {
			disks := map[string]*faultyDisk{}
			with := withFaultyDisk(disks)
			ms := three(c, func(cfg *Config) { with(cfg); cfg.DiskTimeout = time.Hour })
			leader := c.leader()
			followers := c.followers(leader)
			c.activate(leader.store)
			for _, m := range ms {
				c.has(m.store, "none") // the member has caught up
			}
			<-time.After(time.Second)
			index := leader.store.raft.LastIndex()
			c.net.Isolate(followers[1].addr)
			c.net.Reset(leader.addr, followers[1].addr)
			disk := disks[leader.id]
			disk.hang.Store(true)
			release := sync.OnceFunc(func() { close(disk.hold) })
			defer release()
			answers := make(chan error, 2)
			for i, m := range []*member{leader, followers[0]} {
				go func() {
					rs, err := m.store.Propose(ctxFor(t, time.Hour), submit(fmt.Sprint("task", i), task.Fail))
					if err == nil && (rs[0].Code != task.OK || rs[0].Outcome != task.SubmitCreated) {
						err = fmt.Errorf("%+v", rs[0])
					}
					answers <- err
				}()
			}
			<-time.After(time.Second / 2)
			c.net.Rejoin(followers[1].addr) // it gets entries and commits in another way
			<-time.After(time.Second)
			for _, m := range ms {
				st := m.store.Status()
				if got := m.store.raft.LastIndex(); got <= index {
					t.Fatalf("%s has got nothing: this shows nothing", m.id)
				}
				if st.Commit > index || st.Digest.Index > index {
					t.Fatalf("%s: %+v, and the leader has written up to %d", m.id, st, index)
				}
				if c.has(m.store, "task0") || c.has(m.store, "task1") {
					t.Fatalf("%s shows what is not durable", m.id)
				}
			}
			if len(answers) > 0 {
				t.Fatal("answered")
			}
			if dies {
				disk.fail.Store(true) // entries that wait for the disk are lost
				c.net.Crash(leader.addr)
				leader.store.fail(errCrash)
				release()
				c.stop(leader)
				<-leader.fatal
				if err := <-answers; err == nil {
					t.Fatal("the dead leader has answered")
				}
				c.start(leader, 3, "n1:1", "n2:1", "n3:1")
			} else {
				disk.hang.Store(false)
				release()
				if err := <-answers; err != nil {
					t.Fatal(err)
				}
			}
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
			c.agree()
			if !dies && !c.has(ms[0].store, "task0") || !c.has(ms[0].store, "task1") {
				t.Fatal("lost")
			}
		})
	}
}

// TestStopsWhileTheDiskHangs: a node that leads itself acknowledges nothing that its disk does not have. When it gives
// up, only the hanging write still waits for the disk.
func TestStopsWhileTheDiskHangs(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		with := withFaultyDisk(disks)
		m := c.add("n1", func(cfg *Config) { with(cfg); cfg.DiskTimeout = 5 * time.Second })
		s := c.start(m, 1)
		c.leader()
		c.activate(s)
		disk := disks[m.id]
		release := sync.OnceFunc(func() { close(disk.hold) })
		defer release()
		disk.hang.Store(true)
		answer := make(chan error, 1)
		go func() {
			_, err := s.Propose(ctxFor(t, time.Hour), submit("abc", task.Fail))
			answer <- err
		}()
		<-time.After(4 * time.Second)
		if len(answer) > 0 {
			t.Fatal("answered")
		}
		if err := <-m.fatal; !errors.Is(err, ErrDiskStalled) {
			t.Fatal(err)
		}
		if err := <-answer; err == nil {
			t.Fatal("acknowledged")
		}
		err := s.Close(ctxFor(t, time.Minute))
		m.store = nil
		if err == nil || !strings.Contains(err.Error(), "the disk hangs") || strings.Contains(err.Error(), "raft hangs") {
			t.Fatalf("close: %v", err)
		}
	})
}

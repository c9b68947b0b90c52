package raftstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// tcpNode is a store behind a real port.
type tcpNode struct {
	id, dir, addr string
	mux           *mux.Mux
	served        chan error
	store         *Store
}

// startTCP opens a node on the address of n. Without one it takes any port of the loopback.
func startTCP(t testing.TB, n *tcpNode, join []string, expect int) {
	t.Helper()
	if n.addr == "" {
		n.addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	n.addr, n.mux, n.served = ln.Addr().String(), mux.New(ln, nil), make(chan error, 1)
	m, served := n.mux, n.served
	go func() { served <- m.Serve() }()
	n.store, err = Open(Config{
		ID: n.id, Dir: n.dir, Addr: n.addr, HTTP: "http-" + n.id, Join: append(slices.Clone(join), n.addr), BootstrapExpect: expect, Net: n.mux,
		OnFatal: func(err error) { t.Errorf("%s: %v", n.id, err) }, LogStore: logstore.Kind(*logStore),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stopTCP(t testing.TB, n *tcpNode) {
	t.Helper()
	if n.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.store.Close(ctx); err != nil {
		t.Error(err)
	}
	n.mux.Close()
	<-n.served
	n.store = nil
}

// tcpCluster starts three nodes over the loopback and waits for a leader. The directories are on disk.
func tcpCluster(t testing.TB) []*tcpNode {
	t.Helper()
	var ns []*tcpNode
	var join []string
	for i := range 3 {
		n := &tcpNode{id: fmt.Sprintf("n%d", i+1), dir: t.TempDir()}
		startTCP(t, n, join, 3)
		t.Cleanup(func() { stopTCP(t, n) })
		ns, join = append(ns, n), append(join, n.addr)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rs, err := ns[0].store.Propose(ctx, task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "d", Size: 1, Version: "v"},
		Behaviors: []task.Activated{{Name: behavior, Policy: task.DefaultPolicy()}},
	})
	if err != nil || rs[0].Code != task.OK {
		t.Fatal(rs, err)
	}
	return ns
}

// TestTCP runs over real connections in real time. Commands are proposed through all nodes at once, and the leader
// restarts on another port in the middle. Nothing is lost, and nothing is done twice.
func TestTCP(t *testing.T) {
	ns := tcpCluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const writers, each = 4, 60
	var wg sync.WaitGroup
	write := func(n *tcpNode, name string) {
		s := n.store
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%s-%s-%d", name, n.id, i)
				rs, err := s.Propose(ctx, submit(id, task.Fail))
				if errors.Is(err, ErrClosed) || errors.Is(err, ErrOutcomeUnknown) && s.ended(ctx) != nil {
					return // the node that restarts
				}
				if err != nil || rs[0].Outcome != task.SubmitCreated {
					t.Errorf("%s: %+v %v", id, rs, err)
				}
			}
		})
	}
	for _, n := range ns {
		for w := range writers {
			write(n, fmt.Sprint("w", w))
		}
	}
	leader := ns[slices.IndexFunc(ns, func(n *tcpNode) bool { id, _ := ns[0].store.Leader(); return n.id == id })]
	others := slices.DeleteFunc(slices.Clone(ns), func(n *tcpNode) bool { return n == leader })
	if _, err := others[0].store.Propose(ctx, submit("before", task.Fail)); err != nil {
		t.Fatal(err)
	}
	stopTCP(t, leader)
	leader.addr = ""
	startTCP(t, leader, []string{others[0].addr}, 3)
	wg.Wait()
	if _, err := leader.store.Propose(ctx, submit("after", task.Fail)); err != nil {
		t.Fatal(err)
	}
	for _, n := range ns {
		err := n.store.Read(ctx, func(m *task.Machine) {
			for _, o := range others {
				for w := range writers {
					for i := range each {
						if id := fmt.Sprintf("w%d-%s-%d", w, o.id, i); m.Task(key(id)) == nil {
							t.Errorf("%s lacks %s", n.id, id)
						}
					}
				}
			}
			if m.Task(key("before")) == nil || m.Task(key("after")) == nil {
				t.Errorf("%s lacks a task", n.id)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

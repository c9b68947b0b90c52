package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/bench"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

// behavior is what is submitted, and what runs.
const behavior = "scale.echo"

// lab is a cluster in one setting: processes of the binary, and what stands between them.
type lab struct {
	setting

	dir     string
	procs   *trio.Cluster
	nodes   []*trio.Node
	workers []*trio.Node
	leader  int
	hosts   *hosts   // nil: all on loopback
	proxies []*proxy // of the ports between nodes
	client  *client.Client
}

// open starts a cluster of the setting's binary. The caller closes what it gets, also beside an error.
func open(ctx context.Context, s setting) (*lab, error) {
	l := &lab{setting: s}
	var err error
	parent := ""
	if s.memory {
		parent = "/dev/shm"
	}
	if l.dir, err = os.MkdirTemp(parent, "taskrt-scale-"); err != nil {
		return l, err
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKRT_") {
			env = append(env, v)
		}
	}
	l.procs = &trio.Cluster{Binary: "env", Env: env}
	if err = l.lay(); err != nil {
		return l, err
	}
	for _, n := range l.nodes {
		if err = l.procs.Start(ctx, n); err != nil {
			return l, err
		}
	}
	if l.client, err = client.New(client.Config{URLs: l.urls()}); err != nil {
		return l, err
	}
	if err = l.settle(ctx); err != nil {
		return l, err
	}
	return l, l.push(ctx)
}

// lay chooses addresses, and makes the command line of each node.
func (l *lab) lay() error {
	addrs, err := trio.FreeAddresses(2 * l.nodeCount)
	if err != nil {
		return err
	}
	if l.mbit > 0 {
		if l.hosts, err = newHosts(l.nodeCount, l.mbit); err != nil {
			return err
		}
		for i := range l.nodeCount {
			addrs[i], addrs[l.nodeCount+i] = l.hosts.addr(i, 7070), l.hosts.addr(i, 7170)
		}
	}
	https, rafts := addrs[:l.nodeCount], addrs[l.nodeCount:]
	met := append([]string(nil), rafts...) // where others find them
	if l.delay > 0 {
		for i, addr := range rafts {
			p, err := newProxy(addr, l.delay)
			if err != nil {
				return err
			}
			l.proxies, met[i] = append(l.proxies, p), p.addr()
		}
	}
	for i := range l.nodeCount {
		id := fmt.Sprintf("n%d", i+1)
		args := append(l.wrap(i), l.binary, "server", "--id", id, "--dir", filepath.Join(l.dir, id), "--http", https[i], "--raft", rafts[i],
			"--raft-advertise", met[i], "--join", strings.Join(met, ","), "--bootstrap-expect", fmt.Sprint(l.nodeCount),
			"--maintenance-every", "0s", "--insecure")
		if l.workerCount > 0 {
			args = append(args, "--worker", "none")
		}
		if l.slots > 0 {
			args = append(args, "--worker-slots", fmt.Sprint(l.slots))
		}
		l.nodes = append(l.nodes, &trio.Node{ID: id, URL: "http://" + https[i], Log: filepath.Join(l.dir, id+".log"), Args: args})
	}
	return nil
}

// wrap is what stands before the command of a node: its host, its CPU, its slow disk.
func (l *lab) wrap(i int) (words []string) {
	if l.hosts != nil {
		words = append(words, "nsenter", "--net=/run/netns/"+l.hosts.name(i))
	}
	if l.sync > 0 {
		words = append(words, "strace", "--quiet=all", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fdatasync,fsync",
			"-e", fmt.Sprintf("inject=fdatasync,fsync:delay_enter=%d", l.sync.Microseconds()))
	}
	return words
}

func (l *lab) urls() (urls []string) {
	for _, n := range l.nodes {
		urls = append(urls, n.URL)
	}
	return urls
}

// settle waits for all nodes and for a leader, starts workers, and puts processes on their CPUs.
func (l *lab) settle(ctx context.Context) error {
	for _, n := range l.nodes {
		c, err := client.New(client.Config{URLs: []string{n.URL}, RetryFor: time.Second, AttemptTimeout: 2 * time.Second})
		if err != nil {
			return err
		}
		for c.Ready(ctx) != nil {
			if err := bench.Pause(ctx, 50*time.Millisecond); err != nil {
				return errors.Join(err, fmt.Errorf("%s: %s", n.ID, n.LastLines(3)))
			}
		}
		c.Close()
	}
	state, err := l.client.Cluster(ctx)
	if err != nil {
		return err
	}
	for i, n := range l.nodes {
		if n.ID == state.Leader {
			l.leader = i
		}
	}
	for i := range l.workerCount {
		if err := l.work(i); err != nil {
			return err
		}
	}
	if err := l.allWorkers(ctx); err != nil {
		return err
	}
	for _, p := range l.pins {
		if err := pin(p.cpus, l.pids()[p.role]...); err != nil {
			return err
		}
	}
	return nil
}

// work starts a process of a worker.
func (l *lab) work(i int) error {
	id := fmt.Sprintf("w%03d", i)
	w := &trio.Node{ID: id, Log: filepath.Join(l.dir, id+".log"), Args: []string{
		l.binary, "worker", "--id", id, "--dir", filepath.Join(l.dir, id), "--server", strings.Join(l.urls(), ","), "--worker-slots", fmt.Sprint(max(1, l.slots)),
	}}
	l.workers = append(l.workers, w)
	_, err := l.procs.Launch(w)
	return err
}

// allWorkers waits until as many workers are connected as were started.
func (l *lab) allWorkers(ctx context.Context) error {
	for l.workerCount > 0 {
		state, err := l.client.Cluster(ctx)
		if err != nil {
			return err
		}
		live := 0
		for _, w := range state.Workers {
			if strings.HasPrefix(w.ID, "w") {
				live++
			}
		}
		if live >= l.workerCount {
			return nil
		}
		for _, w := range l.workers {
			if !w.Alive() {
				return fmt.Errorf("the worker %s has ended: %s", w.ID, w.LastLines(2))
			}
		}
		if err := bench.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// push makes the behavior.
func (l *lab) push(ctx context.Context) error {
	f, err := os.Open(echo)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = l.client.Push(ctx, api.PushRequest{
		Namespace: api.DefaultNamespace, Wasm: f, Size: info.Size(), Manifest: []byte(`{"schema":1,"behaviors":[{"name":"` + behavior + `"}]}`),
	})
	return err
}

// pids are the processes of each role.
func (l *lab) pids() map[string][]int {
	found := map[string][]int{callers: {os.Getpid()}}
	for i, n := range l.nodes {
		role := follower
		if i == l.leader {
			role = leader
		}
		for _, pid := range trio.Family(n.Cmd.Process.Pid) {
			switch {
			case trio.Executes(pid, "server"):
				found[role] = append(found[role], pid)
			case trio.Executes(pid, "guests"):
				found[guests] = append(found[guests], pid)
			}
		}
	}
	for _, w := range l.workers {
		for _, pid := range trio.Family(w.Cmd.Process.Pid) {
			if trio.Executes(pid, "worker") || trio.Executes(pid, "guests") {
				found[guests] = append(found[guests], pid)
			}
		}
	}
	return found
}

// close ends all processes and removes what they left.
func (l *lab) close() error {
	if l.client != nil {
		l.client.Close()
	}
	for _, n := range append(l.workers, l.nodes...) {
		if !n.Alive() {
			continue
		}
		for _, pid := range slices.Backward(trio.Family(n.Cmd.Process.Pid)) { // a tracer would leave what it traces
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended
			}
		}
		<-n.Exited
	}
	for _, p := range l.proxies {
		p.close()
	}
	var err error
	if l.hosts != nil {
		err = l.hosts.close()
	}
	return errors.Join(err, pin(everyCPU(), os.Getpid()), os.RemoveAll(l.dir))
}

// pin puts processes, with all their threads, on CPUs.
func pin(cpus string, pids ...int) error {
	for _, pid := range pids {
		if out, err := leash.Command("taskset", "-a", "-c", "-p", cpus, fmt.Sprint(pid)).CombinedOutput(); err != nil {
			return fmt.Errorf("taskset: %w: %s", err, out)
		}
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/bench"
	"github.com/taskrt/taskrt/internal/scale"
	"github.com/taskrt/taskrt/internal/trio"
)

// measured is what one load gave.
type measured struct {
	Setting string
	Write   time.Duration // a durable write, before

	Work   scale.Work
	Nodes  int
	Tasks  float64
	Rate   float64
	P50    time.Duration
	CPU    map[string]float64 // microseconds of a task, by role
	Groups float64            // durable writes of the leader, for each task
	Sent   float64            // bytes that the leader sent for each task; 0: not known
	Free   map[string]float64 // cores that nobody else used, by CPUs
	Stored float64            // bytes that the leader wrote for each task
}

// load asks for w, and measures.
func (l *lab) load(ctx context.Context, w scale.Work, length time.Duration) (*measured, error) {
	raw := bench.Text(w.Params)
	if err := l.prepare(ctx, w, raw); err != nil {
		return nil, err
	}
	before, err := l.look()
	if err != nil {
		return nil, err
	}
	m := &measured{Work: w, Nodes: l.nodeCount}
	if w.Kind == scale.Drain {
		err = l.drain(ctx, m)
	} else {
		err = l.loop(ctx, m, length, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label(w), err)
	}
	after, err := l.look()
	if err != nil {
		return nil, err
	}
	l.differ(m, before, after)
	return m, nil
}

// prepare brings the queue to where w begins.
func (l *lab) prepare(ctx context.Context, w scale.Work, raw json.RawMessage) error {
	switch w.Kind {
	case scale.Drain:
		return l.fill(ctx, l.tasks, raw)
	case scale.Run:
		return l.empty(ctx)
	}
	_, err := l.client.PauseBehavior(ctx, api.DefaultNamespace, behavior, true)
	return err
}

// clients are one for each node.
func (l *lab) clients(w scale.Work) (list []*client.Client, done func(), err error) {
	for i := range l.nodes {
		urls := l.urls()
		c := client.Config{URLs: append(urls[i:len(urls):len(urls)], urls[:i]...)}
		c.Transport = &http.Transport{MaxIdleConnsPerHost: w.Callers, DisableCompression: true}
		if w.HTTP {
			c.Stream = client.StreamNever
		}
		one, err := client.New(c)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, one)
	}
	return list, func() {
		for _, c := range list {
			c.Close()
		}
	}, nil
}

// loop lets callers ask, each for one thing after the other.
func (l *lab) loop(ctx context.Context, m *measured, length time.Duration, raw json.RawMessage) error {
	w := m.Work
	list, done, err := l.clients(w)
	if err != nil {
		return err
	}
	defer done()
	loop := bench.Loop{Callers: w.Callers, Warmup: length / 3, Length: length, Call: func(ctx context.Context, caller int) error {
		c := list[caller%len(list)]
		if w.Batch > 1 {
			return batch(ctx, c, w.Batch, raw)
		}
		r := api.SubmitRequest{Behavior: behavior, Params: raw, Minimal: w.Kind == scale.Submit}
		if w.Kind == scale.Run {
			r.Wait = 30 * time.Second
		}
		answer, err := c.Submit(ctx, r)
		if err == nil && w.Kind == scale.Run && answer.Task.Status != "SUCCESS" {
			return fmt.Errorf("task %s is %s", answer.Task.ID, answer.Task.Status)
		}
		return err
	}}
	got, err := loop.Run(ctx)
	if err != nil {
		return err
	}
	tasks := float64(max(1, w.Batch))
	within := got.Took.Seconds() - got.Times.Mean()/1e6 // a call counts that begins so early that it ends in time
	if within < got.Took.Seconds()/3 {
		return fmt.Errorf("calls take %v each: measure for longer", time.Duration(got.Times.Mean())*time.Microsecond)
	}
	m.Tasks, m.Rate = float64(got.All)*tasks, float64(got.Calls)*tasks/within
	m.P50 = time.Duration(got.Times.ValueAtQuantile(50)) * time.Microsecond
	return nil
}

func batch(ctx context.Context, c *client.Client, n int, raw json.RawMessage) error {
	rs := make([]api.SubmitRequest, n)
	for i := range rs {
		rs[i] = api.SubmitRequest{Behavior: behavior, Params: raw, Minimal: true}
	}
	results, err := c.SubmitBatch(ctx, rs)
	for _, r := range results {
		if err == nil && r.Error != nil {
			err = r.Error
		}
	}
	return err
}

// fill queues n tasks.
func (l *lab) fill(ctx context.Context, n int, raw json.RawMessage) error {
	if err := l.empty(ctx); err != nil {
		return err
	}
	if _, err := l.client.PauseBehavior(ctx, api.DefaultNamespace, behavior, true); err != nil {
		return err
	}
	const size = 500
	loop := bench.Loop{Callers: 4, Limit: int64(n / size), Call: func(ctx context.Context, _ int) error { return batch(ctx, l.client, size, raw) }}
	_, err := loop.Run(ctx)
	return err
}

// empty lets whatever is queued run.
func (l *lab) empty(ctx context.Context) error {
	if _, err := l.client.PauseBehavior(ctx, api.DefaultNamespace, behavior, false); err != nil {
		return err
	}
	for {
		s, err := l.client.BehaviorStats(ctx, api.DefaultNamespace, behavior)
		if err != nil || s.Due+s.Running+s.Delayed+s.Retrying == 0 {
			return err
		}
		if err := bench.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (l *lab) drain(ctx context.Context, m *measured) error {
	begun := time.Now()
	if err := l.empty(ctx); err != nil {
		return err
	}
	m.Tasks = float64(l.tasks)
	m.Rate = m.Tasks / time.Since(begun).Seconds()
	return nil
}

// counts is what grows while a load lasts.
type counts struct {
	at     time.Time
	cpu    map[string]time.Duration
	writes float64
	stored float64
	sent   float64
	busy   map[string]time.Duration // of CPUs: by anybody
}

func (l *lab) look() (*counts, error) {
	c := &counts{at: time.Now(), cpu: map[string]time.Duration{}, busy: map[string]time.Duration{}}
	for role, pids := range l.pids() {
		used, err := trio.CPU(pids...)
		if err != nil {
			return nil, err
		}
		c.cpu[role] = used
	}
	var err error
	if c.writes, err = l.metric("taskrt_raft_disk_write_duration_seconds_count "); err != nil {
		return nil, err
	}
	if c.stored, err = l.metric("taskrt_raft_disk_write_bytes_total "); err != nil {
		return nil, err
	}
	if l.hosts != nil {
		if c.sent, err = l.hosts.sent(l.leader); err != nil {
			return nil, err
		}
	}
	for _, role := range []string{leader, follower, callers, guests} {
		if c.busy[l.cpuList(role)], err = busyCPUs(l.cpuList(role)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// differ fills in what the counts say.
func (l *lab) differ(m *measured, a, b *counts) {
	m.CPU, m.Free = map[string]float64{}, map[string]float64{}
	took := b.at.Sub(a.at)
	own := map[string]time.Duration{}
	for role, used := range b.cpu {
		used -= a.cpu[role]
		m.CPU[role] = float64(used.Microseconds()) / m.Tasks
		own[l.cpuList(role)] += used
	}
	for cpus, busy := range b.busy {
		others := max(0, busy-a.busy[cpus]-own[cpus])
		m.Free[cpus] = max(0.1, float64(countCPUs(cpus))-others.Seconds()/took.Seconds())
	}
	m.Groups = (b.writes - a.writes) / m.Tasks
	m.Stored = (b.stored - a.stored) / m.Tasks
	m.Sent = (b.sent - a.sent) / m.Tasks
}

// metric asks the leader.
func (l *lab) metric(name string) (float64, error) {
	res, err := http.Get(l.nodes[l.leader].URL + "/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}

// cpuRange reads "0" and "0-3".
func cpuRange(cpus string) (first, last int) {
	from, to, ok := strings.Cut(cpus, "-")
	first, _ = strconv.Atoi(from)
	if !ok {
		return first, first
	}
	last, _ = strconv.Atoi(to)
	return first, last
}

func countCPUs(cpus string) int { first, last := cpuRange(cpus); return last - first + 1 }

// busyCPUs is for how long CPUs have not been idle, by /proc/stat.
func busyCPUs(cpus string) (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	first, last := cpuRange(cpus)
	var ticks int64
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 9 || !strings.HasPrefix(words[0], "cpu") || words[0] == "cpu" {
			continue
		}
		if n, err := strconv.Atoi(words[0][3:]); err != nil || n < first || n > last {
			continue
		}
		for i, word := range words[1:9] {
			if n, err := strconv.ParseInt(word, 10, 64); err == nil && i != 3 && i != 4 { // idle, iowait
				ticks += n
			}
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// writeTime is what a durable write takes when as many logs as there are nodes are written at once: two syncs, as the default format has.
func (l *lab) writeTime() (time.Duration, error) {
	const times = 60
	var mu sync.Mutex
	var all []time.Duration
	var errs []error
	var wg sync.WaitGroup
	for i := range l.nodeCount {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(l.dir, fmt.Sprintf("probe%d", i)))
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				return
			}
			defer os.Remove(f.Name())
			defer f.Close()
			page := make([]byte, 8192)
			for k := range times {
				begun := time.Now()
				_, err1 := f.WriteAt(page, int64(k%8)*8192)
				err2 := f.Sync()
				_, err3 := f.WriteAt(page[:4096], 8*8192)
				err4 := f.Sync()
				took := time.Since(begun) + 2*l.sync
				mu.Lock()
				all, errs = append(all, took), append(errs, err1, err2, err3, err4)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return all[len(all)/2], nil
}

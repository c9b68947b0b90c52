package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// settle is how long the nodes are left alone before their memory is read. A node gives memory back that it has no use for after three
// to six seconds without work, and on two busy cores it may have a snapshot to finish before.
const settle = 15 * time.Second

// memoryPreset measures how much memory the nodes take with many tasks queued, or done: then each has a result besides, which is its
// params again.
func memoryPreset(ctx context.Context, b *bed) error {
	if b.cluster == nil {
		return errNotOurs
	}
	b.Runs, b.steps, b.report.Runs = 1, 1, 1
	state := " queued"
	if b.Finished {
		state = " done"
	}
	return b.runs(ctx, plural(b.Tasks, "task")+state, func(ctx context.Context) ([]value, error) {
		before, err := b.anonymous()
		if err != nil {
			return nil, err
		}
		if err := b.fill(ctx, b.Tasks); err != nil {
			return nil, err
		}
		if b.Finished {
			if err := b.pause(ctx, false); err != nil {
				return nil, err
			}
			if err := b.emptied(ctx); err != nil {
				return nil, err
			}
		}
		if err := Pause(ctx, settle); err != nil {
			return nil, err
		}
		after, err := b.anonymous()
		if err != nil {
			return nil, err
		}
		most, sum := 0.0, 0.0
		for i := range after {
			most = max(most, after[i])
			sum += after[i] - before[i]
		}
		return []value{
			{"RssAnon, the most of a node", "MB", most / 1e6}, {"RssAnon for a task", "bytes", sum / trio.Size / float64(b.Tasks)},
		}, nil
	})
}

// anonymous is the anonymous memory of each node in bytes: what the kernel cannot take back.
func (b *bed) anonymous() (list []float64, err error) {
	for _, p := range b.cluster.Nodes {
		n, err := rssAnon(p.Cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// rssAnon is the anonymous memory, in bytes, of a process and of the processes that it has started.
func rssAnon(pid int) (float64, error) {
	sum, err := rssAnonOf(pid)
	for _, child := range trio.Family(pid)[1:] {
		if n, err := rssAnonOf(child); err == nil { // else it has just ended
			sum += n
		}
	}
	return sum, err
}

func rssAnonOf(pid int) (float64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory is read from Linux's /proc: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no RssAnon", pid)
}

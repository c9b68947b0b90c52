package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taskrt/taskrt/runtime"
)

// latencyPreset submits tasks one by one at a fixed rate. It measures how long it takes until the guest begins, and until the submitter has
// the result. Both count from the time when the submit was due.
func latencyPreset(ctx context.Context, b *bed) error {
	b.steps = len(b.Rates) * b.Runs
	if err := b.pause(ctx, false); err != nil {
		return err
	}
	for _, rate := range b.Rates {
		err := b.runs(ctx, fmt.Sprintf("%g/s", rate), func(ctx context.Context) ([]value, error) { return b.openLoop(ctx, rate) })
		if err != nil {
			return err
		}
	}
	return nil
}

// openLoop sends at a rate for some time, however long the answers take.
func (b *bed) openLoop(ctx context.Context, rate float64) ([]value, error) {
	const most = 1000 // unanswered at a time
	clients, done, err := b.clients(most)
	if err != nil {
		return nil, err
	}
	defer done()
	starts, err := b.startTimes()
	if err != nil {
		return nil, err
	}
	defer starts.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	every := time.Duration(float64(time.Second) / rate)
	count := max(2, int(b.For/every))
	var mu sync.Mutex
	var wg sync.WaitGroup
	results, begins := newHistogram(), newHistogram()
	begin, slots := time.Now().Add(every), make(chan struct{}, most)
	for i := range count {
		due := begin.Add(time.Duration(i) * every)
		if err := Pause(ctx, time.Until(due)); err != nil {
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t, err := b.result(ctx, clients[i%len(clients)])
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			record(results, time.Since(due))
			starts.want(t.ID, due)
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	values := quantiles("result ", results)
	if b.cluster == nil {
		return values, nil // nobody says when guests begin
	}
	if err := starts.read(begins); err != nil {
		return nil, err
	}
	return append(quantiles("start ", begins), values...), nil
}

// startTimes reads from the run logs of the nodes that were started here when guests began. These nodes have the clock of this machine.
type startTimes struct {
	files []*os.File
	due   map[string]time.Duration // by task, on that clock
	zero  time.Time                // where that clock was 0
}

func (b *bed) startTimes() (*startTimes, error) {
	s := &startTimes{due: map[string]time.Duration{}}
	if b.cluster == nil {
		return s, nil
	}
	s.zero = time.Now().Add(-runtime.Boottime())
	for i := range b.cluster.Nodes {
		f, err := os.Open(b.cluster.runLog(i))
		if err == nil {
			s.files = append(s.files, f)
			_, err = f.Seek(0, io.SeekEnd)
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// want remembers a task of which read looks for the begin, if any node writes it down.
func (s *startTimes) want(id string, due time.Time) {
	if len(s.files) > 0 {
		s.due[id] = due.Sub(s.zero)
	}
}

// read finds the begin of every task that is wanted.
func (s *startTimes) read(h *hdrhistogram.Histogram) error {
	for _, f := range s.files {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var run struct {
				Task  string `json:"task"`
				Begin int64  `json:"begin_ns"`
			}
			if err := json.Unmarshal(lines.Bytes(), &run); err != nil {
				return fmt.Errorf("the run log %s: %w", f.Name(), err)
			}
			if due, ok := s.due[run.Task]; ok {
				record(h, time.Duration(run.Begin)-due)
				delete(s.due, run.Task)
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
	}
	if len(s.due) > 0 {
		return fmt.Errorf("%d tasks have a result, and no node wrote down that their guests began", len(s.due))
	}
	return nil
}

func (s *startTimes) close() {
	for _, f := range s.files {
		_ = f.Close() // it was only read
	}
}

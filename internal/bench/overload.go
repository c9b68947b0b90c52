package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taskrt/taskrt/api"
)

// overloadPreset measures by a closed loop how much the cluster takes. Then it offers many times as much, from senders who do not wait for
// each other and do not try again. It measures how much is admitted, how long that takes, and what the nodes' memory does. It measures the
// same at little load, before and after.
func overloadPreset(ctx context.Context, b *bed) error {
	b.steps = 4 * b.Runs
	callers := b.Callers[0]
	f, err := b.newFlood()
	if err != nil {
		return err
	}
	defer f.transport.CloseIdleConnections()
	name := fmt.Sprintf("what it takes: %s, batches of %d", plural(callers, "caller"), b.Batch)
	err = b.runs(ctx, name, func(ctx context.Context) ([]value, error) { return f.closed(ctx, callers) })
	if err != nil {
		return err
	}
	capacity := b.report.Find(name, "admitted").Median / float64(b.Batch)
	for _, row := range []struct {
		name   string
		factor float64
	}{{"a tenth of it", 0.1}, {fmt.Sprintf("%g times of it", b.Factor), b.Factor}, {"a tenth of it, afterwards", 0.1}} {
		err := b.runs(ctx, row.name, func(ctx context.Context) ([]value, error) { return f.open(ctx, capacity*row.factor) })
		if err != nil {
			return err
		}
	}
	return b.there(ctx, f.accepted)
}

// floodSenders is how many connections the flood has. A request for which no connection is free is not sent, and so was not offered.
const floodSenders = 1000

// flood sends one prepared request again and again, and looks at the answers as little as it can, because it shares the CPUs with the cluster.
type flood struct {
	*bed
	body      []byte
	transport *http.Transport
	accepted  *sample
}

func (b *bed) newFlood() (*flood, error) {
	rs := make([]api.SubmitRequest, b.Batch)
	for i := range rs {
		rs[i] = b.request()
	}
	body, err := json.Marshal(map[string]any{"tasks": rs})
	t := &http.Transport{MaxIdleConnsPerHost: floodSenders, IdleConnTimeout: time.Minute, DisableCompression: true, TLSClientConfig: b.TLS}
	return &flood{bed: b, body: body, transport: t, accepted: newSample()}, err
}

// tally counts the outcomes of requests.
type tally struct {
	mu                        sync.Mutex
	admitted, refused, failed int
	times                     *hdrhistogram.Histogram // of those admitted
	failure                   error                   // the first
}

func newTally() *tally { return &tally{times: newHistogram()} }

func (t *tally) add(took time.Duration, refused bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case refused:
		t.refused++
	case err != nil:
		t.failed++
		if t.failure == nil {
			t.failure = err
		}
	default:
		t.admitted++
		record(t.times, took)
	}
}

// values of so many seconds, in tasks.
func (t *tally) values(batch int, took time.Duration) ([]value, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.admitted == 0 {
		return nil, fmt.Errorf("nothing was admitted, %d requests were refused: %w", t.refused, errors.Join(t.failure))
	}
	rate := func(n int) float64 { return float64(n*batch) / took.Seconds() }
	return append([]value{
		{"offered", "1/s", rate(t.admitted + t.refused + t.failed)}, {"admitted", "1/s", rate(t.admitted)}, {"refused", "1/s", rate(t.refused)}, {"failed", "1/s", rate(t.failed)},
	}, quantiles("", t.times)...), nil
}

// send sends the request to a node. refused says that the node told the sender to come again later.
func (f *flood) send(ctx context.Context, node int) (refused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(f.URLs[node%len(f.URLs)], "/")+"/v1/tasks", bytes.NewReader(f.body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if err := f.prove(req); err != nil {
		return false, err
	}
	res, err := f.transport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests {
		if res.Header.Get("Retry-After") == "" {
			return false, errors.New("a refusal does not say when to come again")
		}
		_, err := io.Copy(io.Discard, res.Body)
		return err == nil, err
	}
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return false, err
	case res.StatusCode != http.StatusOK:
		return false, fmt.Errorf("status %d: %.200s", res.StatusCode, answer)
	case bytes.Count(answer, []byte(`"outcome":"created"`)) != f.Batch:
		return false, fmt.Errorf("not all of a batch was created: %.200s", answer)
	}
	if _, rest, ok := bytes.Cut(answer, []byte(`"id":"`)); ok { // of the first one
		id, _, _ := bytes.Cut(rest, []byte(`"`))
		f.accepted.add(string(id))
	}
	return false, nil
}

// closed is a closed loop of callers who come again when they are told to.
func (f *flood) closed(ctx context.Context, callers int) ([]value, error) {
	t, memory := newTally(), f.watchMemory(ctx)
	l := Loop{Callers: callers, Warmup: f.Warmup, Length: f.For, Call: func(ctx context.Context, caller int) error {
		begun := time.Now()
		refused, err := f.send(ctx, caller)
		t.add(time.Since(begun), refused, err)
		if refused {
			return Pause(ctx, 50*time.Millisecond)
		}
		return err
	}}
	begun := time.Now()
	if _, err := l.Run(ctx); err != nil {
		return nil, err
	}
	values, err := t.values(f.Batch, time.Since(begun)) // the warm-up too
	return append(values, memory()...), err
}

// open sends at a rate, whatever the answers are.
func (f *flood) open(ctx context.Context, rate float64) ([]value, error) {
	t, memory := newTally(), f.watchMemory(ctx)
	every := max(time.Duration(float64(time.Second)/rate), time.Microsecond)
	var wg sync.WaitGroup
	due := make(chan int)
	for range floodSenders {
		wg.Go(func() {
			for node := range due {
				begun := time.Now()
				refused, err := f.send(ctx, node)
				t.add(time.Since(begun), refused, err)
			}
		})
	}
	begun := time.Now()
	for i := 0; ; i++ {
		next := begun.Add(time.Duration(i) * every)
		if next.Sub(begun) >= f.For || time.Since(begun) >= f.For {
			break
		}
		if wait := time.Until(next); wait > 0 && Pause(ctx, wait) != nil {
			break
		}
		select {
		case due <- i:
		case <-time.After(time.Until(begun.Add(f.For))): // all are waiting
		}
	}
	close(due)
	took := time.Since(begun)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	values, err := t.values(f.Batch, took)
	return append(values, memory()...), err
}

// watchMemory looks at the nodes' anonymous memory until its result is called. The result returns the most memory that a node had.
func (b *bed) watchMemory(ctx context.Context) func() []value {
	if b.cluster == nil {
		return func() []value { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	most, done := 0.0, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if list, err := b.anonymous(); err == nil {
				for _, n := range list {
					most = max(most, n)
				}
			}
			_ = Pause(ctx, 100*time.Millisecond) // or ctx ends
		}
	}()
	return func() []value {
		cancel()
		<-done
		return []value{{"RssAnon, the most of a node", "MB", most / 1e6}}
	}
}

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Benchmarks of docs/performance-history.md on three real processes with fsync. They report per second what the cluster did; b.N
// is the number of tasks, records or events.

// post sends one request to a node and decodes the answer; it tries again while the cluster is overloaded.
func (c *cluster) post(node int, path string, body, reply any) {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	for {
		resp, err := c.http.Post("http://"+c.nodes[node%3].http+path, "application/json", bytes.NewReader(data))
		if err != nil {
			c.t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil:
			c.t.Fatal(err)
		case resp.StatusCode == http.StatusTooManyRequests:
			continue
		case resp.StatusCode >= 300:
			c.t.Fatalf("%s: %d %s", path, resp.StatusCode, answer)
		}
		if reply != nil {
			if err := json.Unmarshal(answer, reply); err != nil {
				c.t.Fatal(err)
			}
		}
		return
	}
}

func newBenchCluster(b *testing.B) *cluster {
	c := newCluster(b, "--worker", "none")
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 512}
	return c
}

// define makes an external behavior.
func (c *cluster) define(name string, policy map[string]any) {
	c.t.Helper()
	policy["kind"] = "external"
	code, data := c.do(c.t.Context(), 0, "PUT", "/v1/behaviors/"+name, policy)
	if code >= 300 {
		c.t.Fatalf("define %s: %d %s", name, code, data)
	}
}

// submitMany submits n tasks in batches; params gives the params of each.
func (c *cluster) submitMany(behavior string, n int, params func(i int) any) {
	c.t.Helper()
	const batch = 1000
	for from := 0; from < n; from += batch {
		var tasks []any
		for i := from; i < min(from+batch, n); i++ {
			tasks = append(tasks, map[string]any{"behavior": behavior, "params": params(i)})
		}
		c.post(from/batch, "/v1/tasks", map[string]any{"tasks": tasks}, nil)
	}
}

// work accepts and finishes until n tasks are done: one task per accept and per finish, as simple programs do it.
func (c *cluster) work(behavior string, workers, n int) {
	var done atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for done.Load() < int64(n) {
				var got struct {
					Tasks []struct {
						ID    string
						Lease struct{ Token uint64 }
					}
				}
				c.post(w, "/v1/behaviors/"+behavior+"/accept", map[string]any{"worker": fmt.Sprintf("w%d", w), "wait": "1s"}, &got)
				for _, t := range got.Tasks {
					c.post(w, "/v1/tasks/"+t.ID+"/finish", map[string]any{"token": t.Lease.Token, "result": 1}, nil)
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkExternal(b *testing.B) {
	c := newBenchCluster(b)
	for _, workers := range []int{1, 16, 256} {
		name := fmt.Sprintf("bench-%d", workers)
		c.define(name, map[string]any{"lease": "1m"})
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			c.submitMany(name, b.N, func(i int) any { return i })
			b.ResetTimer()
			c.work(name, workers, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkKeys shows what a limit per key costs: the same work without keys and with 10,000, in one run, by turns.
func BenchmarkKeys(b *testing.B) {
	c := newBenchCluster(b)
	c.define("bench-plain", map[string]any{"lease": "1m"})
	c.define("bench-keyed", map[string]any{"lease": "1m", "concurrency_key": "/key", "max_per_key": 1})
	for _, name := range []string{"plain", "keyed"} {
		b.Run(name, func(b *testing.B) {
			c.submitMany("bench-"+name, b.N, func(i int) any { return map[string]int{"key": i % 10_000} })
			b.ResetTimer()
			c.work("bench-"+name, 64, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkTaskStore claims records of a group of a million and deletes them while adding others.
func BenchmarkTaskStore(b *testing.B) {
	c := newBenchCluster(b)
	const records, batch, clients = 1_000_000, 4_000, 16
	for from := 0; from < records; from += batch {
		adds := make([]any, batch)
		for i := range adds {
			adds[i] = map[string]any{"group": "bench", "data": fmt.Sprintf("record-%d", from+i)}
		}
		c.post(from/batch, "/taskstore/update", map[string]any{"clientid": 1, "adds": adds}, nil)
	}
	b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				for next.Add(1) <= int64(b.N) {
					var got struct{ Tasks []struct{ ID uint64 } }
					c.post(client, "/taskstore/claim", map[string]any{"clientid": client + 1, "group": "bench", "duration": 60_000}, &got)
					c.post(client, "/taskstore/update", map[string]any{
						"clientid": client + 1,
						"updates":  []any{map[string]any{"id": got.Tasks[0].ID, "data": "done"}},
					}, nil)
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims+updates/s")
	})
}

// BenchmarkFanout sends every change of one task after the other to a thousand subscribers of one node.
func BenchmarkFanout(b *testing.B) {
	c := newBenchCluster(b)
	c.define("bench-fan", map[string]any{})
	const subscribers = 1000
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	var ready, reading sync.WaitGroup
	var seen atomic.Int64
	for range subscribers {
		ready.Add(1)
		reading.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.nodes[1].http+"/v1/events?behavior=bench-fan", nil)
			resp, err := client.Do(req)
			ready.Done()
			if err != nil {
				b.Error(err)
				return
			}
			defer resp.Body.Close()
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "event: task") {
					seen.Add(1)
				}
			}
		})
	}
	ready.Wait()
	b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
		before := seen.Load()
		c.submitMany("bench-fan", b.N, func(i int) any { return i })
		for seen.Load() < before+int64(b.N)*subscribers {
			<-time.After(time.Millisecond)
		}
		b.ReportMetric(float64(b.N)*subscribers/b.Elapsed().Seconds(), "deliveries/s")
	})
	cancel()
	reading.Wait()
}

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// load is callers that submit through every node in turn, and wait for what becomes of it, without a pause.
type load struct {
	c    *cluster
	quit chan struct{}
	wg   sync.WaitGroup
	done [4]atomic.Int64

	mu   sync.Mutex
	late []string // tasks that were not final after the wait
}

// startLoad needs the behavior wordcount. A request that fails fails the test.
func startLoad(t *testing.T, c *cluster) *load {
	return startLoadBy(t, c, func(n int, body string) ([]byte, error) {
		resp, err := c.http.Post(c.urls()[n%3]+"/v1/tasks?wait=1m", "application/json", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%s: %s", resp.Status, data)
		}
		return data, err
	})
}

// startLoadBy is startLoad by callers that submit the n-th body in another way: submit returns the answer.
func startLoadBy(t *testing.T, c *cluster, submit func(n int, body string) ([]byte, error)) *load {
	l := &load{c: c, quit: make(chan struct{})}
	for i := range l.done {
		l.wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.quit:
					return
				default:
				}
				body := fmt.Sprintf(`{"behavior":"wordcount","id":"load-%d-%d","params":{"text":"a"}}`, i, n)
				data, err := submit(n, body)
				if err != nil {
					t.Errorf("a submit under load: %v", err)
					return
				}
				var r struct{ Task task }
				err = json.Unmarshal(data, &r)
				x := r.Task
				switch {
				case err != nil || x.ID == "" || x.Final && x.Status != "SUCCESS":
					t.Errorf("a task under load: %+v, %v", x, err)
					return
				case !x.Final:
					l.mu.Lock()
					l.late = append(l.late, x.ID)
					l.mu.Unlock()
				}
				l.done[i].Add(1)
			}
		})
	}
	return l
}

// progress waits until every caller has had more answers, by connections that are new.
func (l *load) progress() {
	l.c.t.Helper()
	l.c.http.CloseIdleConnections()
	var at [4]int64
	for i := range l.done {
		at[i] = l.done[i].Load()
	}
	l.c.eventually("all callers go on", func() bool {
		for i := range l.done {
			if l.done[i].Load() < at[i]+5 && !l.c.t.Failed() {
				return false
			}
		}
		return true
	})
}

// stop ends the load.
func (l *load) stop() {
	close(l.quit)
	l.wg.Wait()
}

// allDone demands that every task of the load has succeeded. Call it after stop.
func (l *load) allDone() {
	l.c.t.Helper()
	for _, id := range l.late {
		if got := l.c.final(id); got.Status != "SUCCESS" {
			l.c.t.Errorf("%s: %+v", id, got)
		}
	}
}

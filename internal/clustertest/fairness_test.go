package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// fairCluster is three nodes with one worker of six slots, for guests that nap. It counts the slots' milliseconds of
// each namespace.
type fairCluster struct {
	*Cluster
	mu   sync.Mutex
	used map[string]int64
}

// runFair runs f. Guests nap for as many milliseconds as their params say. Rude guests want to go on in 1970.
func runFair(t *testing.T, f func(t *testing.T, c *fairCluster)) {
	c := &fairCluster{used: map[string]int64{}}
	naps := func(ctx context.Context, j *Job) (string, error) {
		ms, err := strconv.Atoi(string(j.Raw))
		if err != nil {
			return "", err
		}
		if err := j.Sleep(ctx, time.Duration(ms)*time.Millisecond); err != nil {
			return "", err
		}
		c.mu.Lock()
		c.used[j.Info.Namespace] += int64(ms)
		c.mu.Unlock()
		if strings.HasPrefix(j.Info.ID, "rude") {
			return "", snoozed(1)
		}
		return "1", nil
	}
	Run(t, 3, Options{NoWorkers: true, Guest: naps, SessionTTL: ttl}, func(t *testing.T, cluster *Cluster) {
		c.Cluster = cluster
		c.AddWorker("w1", 6)
		c.WorkersReady(1)
		f(t, c)
	})
}

// weigh makes a namespace whose tasks get slots by a weight.
func (c *fairCluster) weigh(name string, weight int64) {
	c.t.Helper()
	c.space(name, "echo")
	ctx, cancel := c.Context(patience)
	defer cancel()
	rs, err := c.Node(0).Store().Propose(ctx, task.PutNamespace{Name: name, Share: &task.Share{Weight: weight}})
	if err != nil || rs[0].Code != task.OK {
		c.t.Fatalf("%v, %+v", err, rs)
	}
}

// flood submits n naps of ms milliseconds each.
func (c *fairCluster) flood(namespace, prefix string, n, ms, priority int) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	rs := make([]api.SubmitRequest, n)
	for i := range rs {
		rs[i] = api.SubmitRequest{
			Namespace: namespace, Behavior: "echo", ID: fmt.Sprintf("%s-%d", prefix, i), Params: json.RawMessage(strconv.Itoa(ms)), Priority: &priority,
		}
	}
	if results, err := c.Node(0).SubmitBatch(ctx, rs); err != nil || results[n-1].Error != nil {
		c.t.Fatalf("flood: %v, %+v", err, results[n-1:])
	}
}

// ended waits for the end of a task.
func (c *fairCluster) ended(namespace, id string) {
	c.t.Helper()
	ctx, cancel := c.Context(2 * patience)
	defer cancel()
	x, err := c.Node(0).Task(ctx, namespace, id, api.GetOptions{Wait: patience})
	if err != nil || !x.Final {
		c.t.Fatalf("%s/%s has not ended: %v", namespace, id, err)
	}
}

func (c *fairCluster) take() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := c.used
	c.used = map[string]int64{}
	return used
}

// TestNamespacesShareSlots: two namespaces that flood a cluster have its slots by their weights. Slots that one does
// not want go to the other. A namespace that comes to a flood waits only for slots that are held (SPEC N2).
func TestNamespacesShareSlots(t *testing.T) {
	runFair(t, func(t *testing.T, c *fairCluster) {
		c.weigh("blue", 10)
		c.weigh("red", 30)
		c.flood("blue", "flood", 2500, 20, 9)
		<-time.After(500 * time.Millisecond)
		c.take()
		<-time.After(2 * time.Second)
		alone := c.take()["blue"]
		if alone < 6*2000*6/10 { // each nap also costs its assignment
			t.Errorf("alone a namespace had %d ms of six slots in 2 s", alone)
		}
		c.flood("red", "one", 1, 20, 0)
		began := time.Now()
		c.ended("red", "one-0")
		took := time.Since(began)
		t.Logf("alone: %d ms of six slots in 2 s; who comes to the flood waits %v", alone, took)
		if took > 300*time.Millisecond {
			t.Errorf("a task of priority 0 waited for %v, beside a flood of priority 9 of another namespace", took)
		}
		c.flood("red", "flood", 2500, 20, 0)
		<-time.After(500 * time.Millisecond)
		for second := range 3 {
			c.take()
			<-time.After(time.Second)
			used := c.take()
			r := float64(used["red"]) / float64(used["blue"])
			t.Logf("second %d: %v, %.2f times", second, used, r)
			if r < 2.6 || r > 3.4 {
				t.Errorf("second %d: red had %.2f times as much as blue: %v", second, r, used)
			}
		}
	})
}

// TestThePastGoesBeforeNobody: tasks that always want to go on in the past take turns with other tasks, of another
// namespace or of their own (SPEC T4).
func TestThePastGoesBeforeNobody(t *testing.T) {
	runFair(t, func(t *testing.T, c *fairCluster) {
		c.weigh("rude", 0)
		c.weigh("calm", 0)
		c.flood("rude", "rude", 12, 50, 4)
		<-time.After(time.Second)
		for namespace, priority := range map[string]int{"calm": 9, "rude": 4} {
			c.flood(namespace, "calm", 20, 50, priority)
			began := time.Now()
			for i := range 20 {
				c.ended(namespace, fmt.Sprint("calm-", i))
			}
			took := time.Since(began)
			t.Logf("twenty naps of 50 ms in %s, priority %d: %v", namespace, priority, took)
			if took > 3*time.Second {
				t.Errorf("twenty naps of 50 ms in %s took %v beside twelve that want to run in 1970", namespace, took)
			}
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		for i := range 12 {
			if _, err := c.Node(0).Cancel(ctx, "rude", fmt.Sprint("rude-", i)); err != nil {
				t.Error(err)
			}
		}
	})
}

package maintbench

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

var (
	tasks   = flag.Int("tasks", 10_000, "final tasks")
	blobs   = flag.Int("blobs", 1_000, "stored blobs, every second one needed by a task")
	expired = flag.Int("expired", 10, "percent of the tasks that are past their retention")
	clients = flag.Int("clients", 16, "submitters beside the run, each with one submit under way")
	alone   = flag.Duration("alone", 20*time.Second, "how long the submitters work without a run, to compare with")
)

// BenchmarkMaintenance: three nodes of this process over TCP loopback, each with a log of its own on the disk, fsync on; the
// submitters speak HTTP. The run has the default rates. The cluster is filled by imports and notes, and the blobs' files are
// written without a sync: none of that is measured.
//
//	go test -run '^$' -bench Maintenance -benchtime 1x ./internal/maintbench -tasks 1000000 -blobs 100000
func BenchmarkMaintenance(b *testing.B) {
	for range b.N {
		c := open(b)
		c.fill()
		c.size()
		before := c.load(*alone, nil)
		began := time.Now()
		started, err := c.nodes[0].StartMaintenance(b.Context(), api.MaintenanceRequest{})
		if err != nil {
			b.Fatal(err)
		}
		ended := make(chan *api.MaintenanceRun, 1)
		go func() { ended <- c.wait(started.Run) }()
		var run *api.MaintenanceRun
		during := c.load(24*time.Hour, func() bool {
			select {
			case run = <-ended:
				return true
			default:
				return false
			}
		})
		took := time.Since(began)
		if run == nil || !run.Success {
			b.Fatalf("the run: %+v", run)
		}
		report(b, run, took, before, during)
		c.close()
	}
}

// size lets a run count what there is. The first one over more than a filter is made for by default deletes nothing; the next
// is made for what that one counted (SPEC M3), as all are in a cluster that has grown over time.
func (c *cluster) size() {
	started, err := c.nodes[0].StartMaintenance(c.b.Context(), api.MaintenanceRequest{DryRun: true})
	if err != nil {
		c.b.Fatal(err)
	}
	run := c.wait(started.Run)
	if run == nil || run.Filter.Items == 0 {
		c.b.Fatalf("a dry run: %+v", run)
	}
	c.b.Logf("a dry run before: %s, %d marks; %s", run.Status, run.Filter.Items, run.Message)
}

func report(b *testing.B, run *api.MaintenanceRun, took time.Duration, before, during []time.Duration) {
	var text strings.Builder
	fmt.Fprintf(&text, "submits without the run: %d, p50 %v, p99 %v\n", len(before), quantile(before, 0.5), quantile(before, 0.99))
	fmt.Fprintf(&text, "submits beside the run:  %d, p50 %v, p99 %v\n", len(during), quantile(during, 0.5), quantile(during, 0.99))
	fmt.Fprintf(&text, "filter: %d marks in %d bits, false positives %.2g\n", run.Filter.Items, run.Filter.Bits, run.Filter.FalsePositiveRate)
	for _, o := range run.Objects {
		fmt.Fprintf(&text, "%-10s %-8s scanned %8d  retained %8d  newer %6d  deleted %8d\n", o.Kind, o.Namespace, o.Scanned, o.Retained, o.Newer, o.Deleted)
	}
	b.Log(text.String()) // in one: the testing package shows few
	b.ReportMetric(took.Seconds(), "run-s")
	b.ReportMetric(ms(quantile(before, 0.99)), "p99-alone-ms")
	b.ReportMetric(ms(quantile(during, 0.99)), "p99-beside-ms")
	b.ReportMetric(float64(quantile(during, 0.99))/float64(quantile(before, 0.99)), "p99-ratio")
	b.ReportMetric(0, "ns/op")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile sorts ds.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(math.Ceil(q*float64(len(ds)))))]
}

// cluster is three nodes in this process.
type cluster struct {
	b     *testing.B
	dir   string
	nodes []*node.Node
	urls  []string
	stop  []func()
	last  atomic.Int64 // number of a task that a submitter made
}

func open(b *testing.B) *cluster {
	c := &cluster{b: b, dir: b.TempDir()}
	var lns []net.Listener
	var addrs []string
	for range 3 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		lns, addrs = append(lns, ln), append(addrs, ln.Addr().String())
	}
	log := slog.New(slog.DiscardHandler)
	for i, ln := range lns {
		port := mux.New(ln, nil)
		go func() { _ = port.Serve() }()
		id := "n" + strconv.Itoa(i+1)
		n, err := node.New(node.Config{
			ID: id, Dir: filepath.Join(c.dir, id), Addr: addrs[i], Join: addrs, BootstrapExpect: 3, Net: port, Worker: true, Logger: log,
			Maintenance: maintain.Config{Every: -1, Grace: time.Millisecond, UnsafeGrace: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		web, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(ctx, web, server.New(n, server.Config{Logger: log, Stopping: ctx}), log)
		}()
		c.nodes, c.urls = append(c.nodes, n), append(c.urls, "http://"+web.Addr().String())
		c.stop = append(c.stop, func() { cancel(); <-served }, func() { _ = n.Close() }, func() { _ = port.Close() })
	}
	for _, n := range c.nodes {
		for n.Ready(b.Context()) != nil {
			<-time.After(10 * time.Millisecond)
		}
	}
	return c
}

func (c *cluster) close() {
	var wg sync.WaitGroup
	for i := range c.nodes { // of each node the HTTP server first; the nodes side by side, they need each other
		wg.Go(func() {
			for _, stop := range c.stop[3*i : 3*i+3] {
				stop()
			}
		})
	}
	wg.Wait()
}

// propose carries commands out.
func (c *cluster) propose(cmds ...task.Command) {
	c.b.Helper()
	rs, err := c.nodes[0].Store().Propose(c.b.Context(), cmds...)
	if err != nil {
		c.b.Fatal(err)
	}
	for i := range rs {
		if rs[i].Code != task.OK {
			c.b.Fatalf("%T: %s %s", cmds[i], rs[i].Code, rs[i].Message)
		}
	}
}

// fill makes the tasks and the blobs.
func (c *cluster) fill() {
	began := time.Now()
	for name, keep := range map[string]task.Millis{"kept": -1, "brief": 1, "live": -1} {
		p := task.DefaultPolicy()
		p.KeepSuccess = keep
		c.propose(task.PutBehavior{Namespace: "default", Name: name, Version: "v", Policy: p})
	}
	digests := c.fillBlobs()
	now := task.Time(time.Now().Add(-time.Hour).UnixMilli())
	var batch []task.Command
	for i := 0; i < *tasks; {
		imp := task.ImportRecords{Namespace: "default"}
		for ; i < *tasks && len(imp.Tasks) < 250; i++ {
			t := &task.Task{
				Namespace: "default", ID: fmt.Sprint("old-", i), Behavior: "kept", Status: task.Success, Priority: 4, Attempt: 1,
				CreatedAt: now, StartedAt: now, FinishedAt: now, Params: task.Payload{Encoding: task.JSON, Data: []byte(`{"some":"params of a task"}`)},
				Result: task.Payload{Encoding: task.JSON, Data: []byte("null")},
			}
			if i%100 < *expired {
				t.Behavior = "brief"
			}
			if 2*i < len(digests) { // every second blob
				t.Result = task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digests[2*i], Size: blobBytes}}
			}
			imp.Tasks = append(imp.Tasks, t)
		}
		if batch = append(batch, imp); len(batch) == 16 || i == *tasks {
			c.propose(batch...)
			batch = nil
		}
	}
	c.b.Logf("%d tasks and %d blobs made in %v", *tasks, *blobs, time.Since(began).Round(time.Second))
}

const blobBytes = 64

func (c *cluster) fillBlobs() (digests []string) {
	var batch []task.Command
	for i := range *blobs {
		content := make([]byte, blobBytes)
		copy(content, fmt.Sprint("blob ", i))
		d := blob.Digest(content)
		digests = append(digests, d)
		for n := range c.nodes {
			dir := filepath.Join(c.dir, "n"+strconv.Itoa(n+1), "blobs", d[:2])
			if err := os.MkdirAll(dir, 0o700); err != nil {
				c.b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, d), content, 0o600); err != nil {
				c.b.Fatal(err)
			}
		}
		batch = append(batch, task.NoteBlob{Digest: d, Size: blobBytes}, task.NoteBlob{Digest: d, Size: blobBytes, Ready: true})
		if len(batch) >= 1000 || i == *blobs-1 {
			c.propose(batch...)
			batch = nil
		}
	}
	return digests
}

// load submits for a while, or until done says so, and returns how long each submit took.
func (c *cluster) load(d time.Duration, done func() bool) (all []time.Duration) {
	end := time.Now().Add(d)
	ctx, cancel := context.WithCancel(c.b.Context())
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range *clients {
		cl, err := client.New(client.Config{URLs: []string{c.urls[i%len(c.urls)]}})
		if err != nil {
			c.b.Fatal(err)
		}
		wg.Go(func() {
			defer cl.Close()
			for ctx.Err() == nil && time.Now().Before(end) {
				began := time.Now()
				_, err := cl.Submit(ctx, api.SubmitRequest{ID: fmt.Sprint("live-", c.last.Add(1)), Behavior: "live", Params: []byte(`{"n":1}`)})
				took := time.Since(began)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					c.b.Errorf("submit: %v", err)
					return
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
		})
	}
	for done != nil && !done() && time.Now().Before(end) {
		<-time.After(50 * time.Millisecond)
	}
	if done != nil {
		cancel()
	}
	wg.Wait()
	return all
}

// wait returns the record of a run that has ended.
func (c *cluster) wait(run int64) *api.MaintenanceRun {
	for {
		o := api.GetOptions{Wait: api.MaxWait * time.Second, Until: fmt.Sprintf("attempt:%d", run)}
		if _, err := c.nodes[0].Task(c.b.Context(), task.SystemNamespace, task.MaintenanceTask, o); err != nil {
			return nil
		}
		r, err := c.nodes[0].MaintenanceRun(c.b.Context(), run)
		if err != nil {
			return nil
		}
		if r.Status != "RUNNING" && r.Status != "WAITING" {
			return r
		}
	}
}

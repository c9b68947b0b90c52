package apitest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/node/bulk"
	"github.com/taskrt/taskrt/node/files"
	asking "github.com/taskrt/taskrt/node/insight"
	"github.com/taskrt/taskrt/node/lead"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/maintain/native"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/node/wait"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/worker"
)

// Fake is a cluster of one process without Raft: the Service, the leader and a worker of a node, over a store that applies
// commands at once. The packages of api test themselves with it, and a program that uses client.Client may do so.
type Fake struct {
	*service.Service

	dir     string
	net     *memnet.Net
	store   *store
	files   *files.Files
	logs    *logs.Store
	engine  *runtime.Engine
	changes *watch.Feed
	accepts *accept.Client
	found   *query.Index
	hub     *lead.Hub
	worker  *worker.Worker

	cancel context.CancelFunc // ends everything except the worker
	retire context.CancelFunc // ends the worker
	wg     sync.WaitGroup
	done   chan struct{} // closed when the worker has ended
	once   sync.Once
}

const (
	fakeSlots = 4
	fakeTTL   = time.Hour
	soon      = 50 * time.Millisecond // the pauses of maintenance: only tests wait for them
	patient   = 10 * time.Second      // how long Close waits until everything has ended
)

// NewFake makes a Fake. The caller must Close it. NewFake panics if it cannot make one, for example because there is no
// directory for temporary files.
func NewFake() *Fake {
	f := &Fake{net: memnet.New(), store: newStore(), done: make(chan struct{})}
	if err := f.open(); err != nil {
		panic(fmt.Sprintf("apitest: %v", err))
	}
	return f
}

// AddToken keeps an access token that may do everything, and returns its number: 2, 3 and so on. Calls that name it are carried out. It panics
// if it cannot.
func (f *Fake) AddToken(name string) uint64 { return f.AddTokenFor(name, access.Everything()) }

// AddTokenFor is AddToken for a token that may do what the grant says.
func (f *Fake) AddTokenFor(name string, g access.Grant) uint64 {
	hash := sha256.Sum256([]byte(name))
	rs := f.store.apply([]task.Proposal{{Command: task.CreateToken{
		Name: name, Roles: uint64(g.Roles), Namespaces: g.Namespaces, Behaviors: g.Behaviors, Hash: hash[:],
	}}})
	if rs[0].Code != task.OK {
		panic("apitest: " + rs[0].Message)
	}
	number := uint64(0)
	f.store.Local(func(m *task.Machine) { number = m.Access().Named(name).Number })
	return number
}

// Audited returns how many records the audit has made.
func (f *Fake) Audited() (n uint64) {
	f.store.Local(func(m *task.Machine) { n = m.Audit().Last() })
	return n
}

func (f *Fake) open() (err error) {
	if f.dir, err = os.MkdirTemp("", "apitest"); err != nil {
		return err
	}
	quiet, here := slog.New(slog.DiscardHandler), f.net.Node(self)
	if f.logs, err = logs.Open(filepath.Join(f.dir, "logs"), 0); err != nil {
		return err
	}
	if f.files, err = files.Open(files.Config{Dir: filepath.Join(f.dir, "blobs"), Net: here, Logger: quiet}); err != nil {
		return err
	}
	if f.engine, err = runtime.New(runtime.Config{Logger: quiet, CheckChild: children.Check}); err != nil {
		return err
	}
	f.changes = watch.NewFeed(watch.Config{Local: f.store.Local, Encode: service.EventEncoder(f.store.Local)})
	runner := bulk.NewRunner(f.store, f.files, quiet)
	waits := wait.New(func() wait.Subscription { return f.store.subscribe() }, f.store.Local, wait.Told{Jobs: runner.Wake}, f.changes)
	f.found = query.New(query.Config{Subscribe: func() query.Subscription { return f.store.subscribe() }, Local: f.store.Local})
	f.accepts = accept.NewClient(accept.Config{Net: here, Follow: follow, Logger: quiet})
	clock, config := raftstore.SystemClock(), maintain.Config{TrimWait: soon, PurgeWait: soon, PurgeAgain: soon}.WithDefaults()
	f.Service = service.New(service.Config{
		Store: f.store, Files: f.files, Modules: f.engine, Members: alone{f}, Accepts: f.accepts, Waits: waits, Found: f.found, Changes: f.changes,
		Clock: clock, Maintenance: config, Logger: quiet,
	})
	f.hub = lead.New(lead.Config{
		ID: self, TTL: fakeTTL, Store: f.store, Subscribe: func() lead.Subscription { return f.store.subscribe() }, Clock: clock,
		Logs: f.logs, Logger: quiet, Maintenance: config, Progress: f.changes.Live, Children: f.Children, Beside: []func(context.Context){runner.Run},
	})
	f.files.Begin(f.store, func() files.Subscription { return f.store.subscribe() })
	f.worker, err = worker.New(worker.Config{
		ID: self, Node: self, Dir: filepath.Join(f.dir, "worker"), Slots: fakeSlots, Logger: quiet,
		Dial: dialer{here}, Modules: modules{f}, Runner: worker.Engine(f.engine), Blobs: blobs{f},
		Native: map[string]worker.Guest{task.NativeMaintenance: native.Guest{
			Config: config, Cluster: native.Cluster{Store: f.store}, Disks: alone{f}, Now: time.Now,
		}},
	})
	if err != nil {
		return err
	}
	f.run(waits, here)
	return nil
}

// run starts the parts of the cluster.
func (f *Fake) run(waits *wait.Dispatcher, here mux.Network) {
	var ctx, work context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	work, f.retire = context.WithCancel(context.Background())
	leads := make(chan raftstore.Leadership, 1)
	leads <- raftstore.Leadership{Leading: true, Term: 1}
	f.wg.Go(func() { f.files.Run(ctx) })
	f.wg.Go(func() { waits.Run(ctx) })
	f.wg.Go(func() { f.found.Run(ctx) })
	f.wg.Go(func() { f.accepts.Run(ctx) })
	f.wg.Go(func() { f.hub.Lead(leads) })
	f.wg.Go(func() { _ = f.hub.ServeWorkers(here) }) // they end with the hub
	f.wg.Go(func() { _ = f.hub.ServeAccepts(here) })
	go func() {
		defer close(f.done)
		_ = f.worker.Run(work) // an error says that Close has killed it
	}()
}

// Insight explains what does not go on in the cluster.
func (f *Fake) Insight() insight.Insight {
	return asking.New(asking.Config{
		Log: f.Log(), Found: f.found, Leads: func() bool { return true },
		Leader: func(_ context.Context, k task.Key) (r *insight.WhyReply, _ error) {
			f.hub.Look(k, func(m *task.Machine, s *lead.Stand) { r = asking.Explain(m, k, s) })
			return r, nil
		},
	})
}

// Jobs starts, shows and cancels bulk jobs of the cluster.
func (f *Fake) Jobs() jobs.Jobs { return bulk.NewManager(f.Log(), f.store.Freeze) }

// Close ends the cluster. A second Close does nothing.
func (f *Fake) Close() {
	f.once.Do(func() {
		f.EndWaits()
		f.changes.Close()
		f.worker.Kill()
		f.retire()
		<-f.done
		f.hub.Close()
		f.cancel()
		_ = f.files.Close()
		f.wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		defer cancel()
		f.engine.Close(ctx)
		f.net.Close()
		_ = os.RemoveAll(f.dir)
	})
}

// follow stands for raftstore.Store.Follow. The leader never changes.
func follow() (addr string, gone, news <-chan struct{}) { return self, nil, nil }

// dialer connects the worker to the hub.
type dialer struct{ net mux.Network }

func (d dialer) Dial(ctx context.Context) (net.Conn, error) { return d.net.Dial(ctx, self, mux.Stream) }
func (d dialer) Redirect(string)                            {}

// modules and blobs give the worker access to the files.
type (
	modules struct{ f *Fake }
	blobs   struct{ f *Fake }
)

func (m modules) Fetch(ctx context.Context, digest string, _ int64) ([]byte, error) {
	return m.f.files.Get(ctx, digest)
}

func (b blobs) Put(ctx context.Context, data []byte) (digest string, err error) {
	return b.f.PutPayload(ctx, data)
}

func (b blobs) Open(ctx context.Context, digest string) (worker.Blob, error) {
	file, err := b.f.files.Open(ctx, digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", worker.ErrNoBlob, err)
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// alone is a cluster of one member, for the Service and for maintenance.
type alone struct{ f *Fake }

func (a alone) Has(id string) bool                        { return id == self }
func (a alone) Ready(context.Context) error               { return nil }
func (a alone) Walls(context.Context) map[uint64]api.Wall { return nil }
func (a alone) Members() []string                         { return []string{self} }

func (a alone) Cluster(context.Context) *api.Cluster {
	n := api.Node{ID: self, Raft: self, Role: string(raftstore.RoleLeader), Reachable: true, Term: 1, Version: self, Blobs: a.f.files.Status()}
	a.f.store.Local(func(m *task.Machine) {
		n.AppliedIndex, n.Digest = m.Index(), fmt.Sprintf("%d:%016x", m.Digest().Index, m.Digest().Sum)
	})
	return &api.Cluster{Leader: self, Nodes: []api.Node{n}}
}

func (a alone) Logs(_ context.Context, key task.Key) ([][]logs.Attempt, error) {
	own, err := a.f.logs.Read(key)
	return [][]logs.Attempt{own}, err
}

func (a alone) disk() native.Disk {
	return native.Disk{Blobs: a.f.files, Logs: a.f.logs, Local: a.f.store.Local}
}

func (a alone) Files(_ context.Context, _ string, what maintain.Area, after string, limit int) ([]maintain.File, error) {
	return a.disk().Files(what, after, limit)
}

func (a alone) DropLogs(_ context.Context, _ string, token uint64, before task.Time, names []string) (int64, error) {
	return a.disk().DropLogs(token, before, names)
}

var (
	_ api.Service     = (*Fake)(nil)
	_ service.Members = alone{}
	_ maintain.Disks  = alone{}
)

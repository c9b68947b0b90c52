package files

import (
	"context"
	"log/slog"
	"net"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// State is what files need of the replicated state. raftstore.Store implements it.
type State interface {
	Propose(context.Context, ...task.Command) ([]task.Result, error)
	Read(context.Context, func(*task.Machine)) error // linearizable
	Local(func(*task.Machine))
	WaitIndex(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
	Status() raftstore.Status
}

// Subscription delivers the events of this node's machine: raftstore's, or a test's.
type Subscription interface {
	Events() <-chan []task.Event
	Lagged() bool
	Close()
}

// Config configures Files.
type Config struct {
	// Dir is the folder of the files.
	Dir string
	// Net carries files from and to the other members.
	Net    mux.Network
	Logger *slog.Logger
	// Create is blob.Config's: with it tests make a disk full.
	Create func(dir, pattern string) (blob.TempFile, error)
}

// Files are the cluster's files as one node reaches them: its own files, and the files of the other members.
type Files struct {
	config  Config
	disk    *blob.Store
	counter counter

	state  State // set by Begin, as keeper is
	keeper *keeper
}

// Open opens what lies on the disk. Begin must follow before a file is put, read from another member, or served.
func Open(config Config) (*Files, error) {
	f := &Files{config: config}
	disk, err := blob.Open(blob.Config{
		Dir: config.Dir, Net: config.Net, Logger: config.Logger, Create: config.Create,
		Applied:   func(ctx context.Context, index uint64) error { return f.state.WaitIndex(ctx, index) },
		PutFor:    f.Put,
		OnCorrupt: func(digest string) { f.keeper.lost(digest) },
	})
	if err != nil {
		return nil, err
	}
	f.disk = disk
	return f, nil
}

// Begin gives the files the replicated state, which says what is stored and who the members are.
func (f *Files) Begin(state State, subscribe func() Subscription) {
	f.state = state
	f.keeper = newKeeper(keeperConfig{
		blobs: f.disk, read: state.Read, local: state.Local, peers: f.peers, subscribe: subscribe, log: f.config.Logger,
	})
}

// Run fetches what is missing on this disk and unlinks what the log has dropped, until ctx ends.
func (f *Files) Run(ctx context.Context) { f.keeper.run(ctx) }

// Serve answers the other members' questions for files.
func (f *Files) Serve(ln net.Listener) error { return f.disk.Serve(ln) }

// Close ends what is under way. A second Close does nothing.
func (f *Files) Close() error { return f.disk.Close() }

// Status describes this node's files.
func (f *Files) Status() *api.NodeBlobs { return f.keeper.status() }

// Ready returns an error if this node's files are not what they should be. The error says why.
func (f *Files) Ready(ctx context.Context) error { return f.keeper.ready(ctx) }

// Page lists the files of this disk that come after one name.
func (f *Files) Page(after string, limit int) ([]blob.Entry, error) { return f.disk.Page(after, limit) }

// Has reports whether a file is on this disk.
func (f *Files) Has(digest string) bool { return f.disk.Has(digest) }

// Open opens a file of this disk, or one fetched from another member.
func (f *Files) Open(ctx context.Context, digest string) (*blob.File, error) {
	return f.disk.Open(ctx, digest, f.peers())
}

// Get returns the bytes of a file of this disk, or else of another member's.
func (f *Files) Get(ctx context.Context, digest string) ([]byte, error) {
	return f.disk.Get(ctx, digest, f.peers())
}

// peers lists the node-to-node addresses of the other members.
func (f *Files) peers() []string { return f.state.Status().OtherAddrs() }

package service

import (
	"context"
	"io"
	"log/slog"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/node/schemas"
	"github.com/taskrt/taskrt/node/wait"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
)

// Store is what the Service needs of the replicated store. raftstore.Store implements it.
type Store interface {
	Propose(context.Context, ...task.Command) ([]task.Result, error)
	// ProposeKeyed proposes the commands of one request under its idempotency key. A nil command keeps its place.
	ProposeKeyed(context.Context, raftstore.Key, ...task.Command) ([]task.Result, error)
	Read(context.Context, func(*task.Machine)) error // linearizable
	Local(func(*task.Machine))
	WaitIndex(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
	Freeze(context.Context) (*task.Frozen, error)      // a linearizable state that stays as it is
}

// Files is what the Service needs of the cluster's files. files.Files implements it.
type Files interface {
	Stage(context.Context, io.Reader) (*blob.Staged, error)
	StageBytes([]byte) (*blob.Staged, error)
	Put(context.Context, *blob.Staged) error // onto a majority
	Note(context.Context, task.NoteBlob) (task.Result, error)
	Open(ctx context.Context, digest string) (*blob.File, error)
	Get(ctx context.Context, digest string) ([]byte, error)
	Has(digest string) bool
}

// Modules checks modules that are pushed, in the process that compiles modules; see runtime.Engine.
type Modules interface {
	Inspect(ctx context.Context, wasm []byte, given *manifest.Manifest, name string) (*runtime.Inspected, error)
	CheckGranted(namespace string, m *manifest.Manifest) error
}

// Accepts brings accepts to the leader. accept.Client implements it.
type Accepts interface {
	Begin(accept.Ask) (*accept.Call, error)
	Settle(*accept.Call)
	Abandon(*accept.Call)
}

// Members are the members of the cluster as this node reaches them.
type Members interface {
	// Cluster names the leader and describes every member. It needs no leader.
	Cluster(context.Context) *api.Cluster
	// Has reports whether this node knows a member with this ID.
	Has(id string) bool
	// Logs returns what each member that answers has kept of a task's attempts.
	Logs(context.Context, task.Key) ([][]logs.Attempt, error)
	// Walls says what stands around the guests of the workers that are connected, by session, as far as the leader answers (SPEC A10).
	Walls(context.Context) map[uint64]api.Wall
	// Ready returns an error if this node should be asked nothing now. The error says why.
	Ready(context.Context) error
}

// Config is what a Service is made of. Every field is needed.
type Config struct {
	Store   Store
	Files   Files
	Modules Modules
	Members Members
	Accepts Accepts
	Waits   *wait.Dispatcher
	Found   *query.Index
	Changes *watch.Feed
	Clock   raftstore.Clock
	// Maintenance is the configuration of runs, which the API shows.
	Maintenance maintain.Config
	Logger      *slog.Logger
}

// Service is api.Service in the process of a node.
type Service struct {
	store       Store
	files       Files
	modules     Modules
	members     Members
	accepts     Accepts
	waits       *wait.Dispatcher
	found       *query.Index
	changes     *watch.Feed
	clock       raftstore.Clock
	maintenance maintain.Config
	logger      *slog.Logger

	schemas *schemas.Checker
	rates   rates
	exports chan struct{}       // has an item for each export under way
	content *semaphore.Weighted // counts the bytes of blobs in memory that requests refer to
	listed  *semaphore.Weighted // counts the bytes of records in memory that are being written into answers
	closing chan struct{}       // closed when the node begins to stop; it ends waits
}

var _ api.Service = (*Service)(nil)

// New makes a Service.
func New(c Config) *Service {
	return &Service{
		store: c.Store, files: c.Files, modules: c.Modules, members: c.Members, accepts: c.Accepts, waits: c.Waits, found: c.Found, changes: c.Changes,
		clock: c.Clock, maintenance: c.Maintenance, logger: c.Logger,
		schemas: schemas.New(), exports: make(chan struct{}, maxExports),
		content: semaphore.NewWeighted(maxContents), listed: semaphore.NewWeighted(maxListed),
		closing: make(chan struct{}),
	}
}

// EndWaits ends all waiting requests and refuses requests that would wait, because the node begins to stop. It must be
// called once.
func (svc *Service) EndWaits() { close(svc.closing) }

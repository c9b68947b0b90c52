package extworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Client is the part of a cluster's API that a worker needs. *client.Client implements it, with the URLs of the cluster, whom to trust there,
// and the token that proves the worker: one with the role work for the behavior is enough (SPEC A5).
type Client interface {
	Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error)
	Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error)
	Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error)
	FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error)
	Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error)
}

var _ Client = api.Service(nil)

// Handler runs one attempt of a task. Its result is marshalled as JSON; a json.RawMessage is sent as it is, and a []byte as bytes.
// If the result is nil, the last progress is the result, or null if there was none. An error is a failed attempt; the behavior's
// policy decides whether it is retried. See Permanent, Code, RetryAt and Snooze. A panic counts as an error.
//
// ctx ends with a cause that says why: ErrHalt, ErrLost, ErrCancelled or ErrStopping.
type Handler func(ctx context.Context, t *Task) (result any, err error)

// These are the causes for which the context of a handler ends.
var (
	// ErrHalt: the lease is no longer this worker's. Whatever the handler returns is dropped.
	ErrHalt = errors.New("extworker: the lease was taken away")
	// ErrLost: the lease could not be renewed in time. Another worker may hold it by now.
	ErrLost = errors.New("extworker: the lease could not be renewed in time")
	// ErrCancelled: somebody cancelled the task. A success is still honoured for a moment (the behavior's cancel_grace).
	ErrCancelled = errors.New("extworker: the task was cancelled")
	// ErrStopping: the worker stops and the grace is over. Another worker gets the task.
	ErrStopping = errors.New("extworker: the worker stops")
)

// Config configures a Worker. Zero values mean the defaults.
type Config struct {
	Client    Client
	Namespace string // default "default"
	Behavior  string
	Worker    string // a name that tells people who runs the tasks
	Handler   Handler

	Concurrency int           // handlers at a time; default 1
	Lease       time.Duration // how long a lease lasts without renewal, 1 s to 1 h; default: the behavior's
	Wait        time.Duration // of one accept; default 1 m, at most 5 m
	Grace       time.Duration // how long handlers may take to end by themselves when the worker stops; default 10 s
	Logger      *slog.Logger  // default slog.Default
}

const (
	defaultWait  = time.Minute
	defaultGrace = 10 * time.Second
	// killTime is how long a handler may take to return after its context has ended, before the worker stops without it. It is long,
	// because a machine that stands still for a while must not look like a handler that hangs.
	killTime = 5 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Namespace == "" {
		c.Namespace = api.DefaultNamespace
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1
	}
	if c.Wait == 0 {
		c.Wait = defaultWait
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("behavior", c.Behavior, "worker", c.Worker)
	switch {
	case c.Client == nil:
		return c, errors.New("extworker: Client is missing")
	case c.Handler == nil:
		return c, errors.New("extworker: Handler is missing")
	case c.Concurrency < 0:
		return c, fmt.Errorf("extworker: Concurrency is negative: %d", c.Concurrency)
	case c.Grace < 0:
		return c, fmt.Errorf("extworker: Grace is negative: %v", c.Grace)
	}
	r := c.request("check", 1)
	if err := r.Check(); err != nil {
		return c, fmt.Errorf("extworker: %w", err)
	}
	return c, nil
}

// request is an accept of up to n tasks.
func (c *Config) request(id string, n int) api.AcceptRequest {
	r := api.AcceptRequest{
		Namespace: c.Namespace, Behavior: c.Behavior, Worker: c.Worker, Max: min(n, api.MaxAccept),
		Wait: new(api.Duration(c.Wait)), RequestID: id,
	}
	if c.Lease != 0 {
		r.Lease = new(api.Duration(c.Lease))
	}
	return r
}

package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// Request is one question to another member. Question and answer are one JSON value each, on a connection of their own
// (mux.Peer). Both sides ignore unknown fields, because neighbouring versions must understand each other (SPEC C4).
type Request struct {
	Op   string   `json:"op"` // one of the questions below
	Task task.Key `json:"task,omitzero"`

	// The fields below are for maintenance.
	Area   maintain.Area `json:"area,omitempty"`
	After  string        `json:"after,omitempty"`
	Limit  int           `json:"limit,omitempty"`
	Token  uint64        `json:"token,omitempty"`
	Before task.Time     `json:"before,omitempty"`
	Names  []string      `json:"names,omitempty"`
}

// Reply is the answer.
type Reply struct {
	Error string         `json:"error,omitempty"`
	Node  *api.Node      `json:"node,omitempty"`
	Logs  []logs.Attempt `json:"logs,omitempty"`

	Files   []maintain.File `json:"files,omitempty"`
	Dropped int64           `json:"dropped,omitempty"`

	Walls map[uint64]api.Wall `json:"walls,omitempty"` // by session
	Why   *insight.WhyReply   `json:"why,omitempty"`
}

// The questions.
const (
	OpStatus   = "status"
	OpLogs     = "logs"
	OpFiles    = "files"     // files of an area of the member's disk
	OpDropLogs = "drop_logs" // logs of tasks
	OpWalls    = "walls"     // what stands around the guests of the workers that are connected to the member
	OpWhy      = "why"       // why a task waits, as the leader's loop knows it
	// OpEnableRoot turns the root token on. Every caller on this port holds the cluster secret (SPEC A4).
	OpEnableRoot = "enable_root"
	opProgress   = "progress" // answered by frames until one side ends the connection; see Progress
)

const (
	timeout  = time.Second // for one question: a dead member must not hold up an answer for people
	maxReply = 64 << 20    // logs of one task
	maxAsk   = 64 << 10
)

// Dialer reaches the port of nodes. mux.Dialer and every mux.Network are one.
type Dialer interface {
	Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error)
}

// Peers asks the other members and answers them.
type Peers struct {
	net      mux.Network
	answer   func(Request) Reply
	progress *Progress
	logger   *slog.Logger
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// New makes Peers. answer answers what other members ask.
func New(network mux.Network, logger *slog.Logger, answer func(Request) Reply, progress *Progress) *Peers {
	ctx, cancel := context.WithCancel(context.Background())
	return &Peers{net: network, answer: answer, progress: progress, logger: logger, ctx: ctx, cancel: cancel}
}

// Close ends the answers under way, and waits for them.
func (p *Peers) Close() {
	p.cancel()
	p.wg.Wait()
}

// Serve answers until Close.
func (p *Peers) Serve() error {
	ln := p.net.Listen(mux.Peer)
	defer context.AfterFunc(p.ctx, func() { _ = ln.Close() })()
	for {
		c, err := ln.Accept()
		if err != nil {
			if p.ctx.Err() != nil {
				return nil
			}
			return err
		}
		p.wg.Go(func() { p.handle(c) })
	}
}

func (p *Peers) handle(c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(p.ctx, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(10 * timeout))
	var q Request
	if err := json.NewDecoder(io.LimitReader(c, maxAsk)).Decode(&q); err != nil {
		p.logger.Debug("bad question of a peer", "err", err)
		return
	}
	if q.Op == opProgress {
		_ = c.SetDeadline(time.Time{})
		if err := p.progress.serve(p.ctx, c); err != nil {
			p.logger.Debug("a node no longer listens to progress", "err", err)
		}
		return
	}
	if err := json.NewEncoder(c).Encode(p.answer(q)); err != nil {
		p.logger.Debug("cannot answer a peer", "err", err)
	}
}

// Ask asks one member.
func (p *Peers) Ask(ctx context.Context, addr string, q Request) (*Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return Ask(ctx, p.net, addr, q)
}

// Ask is Peers.Ask for a caller that is no member, and is as patient as ctx.
func Ask(ctx context.Context, by Dialer, addr string, q Request) (*Reply, error) {
	c, err := by.Dial(ctx, addr, mux.Peer)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return nil, err
	}
	var r Reply
	if err := json.NewDecoder(io.LimitReader(c, maxReply)).Decode(&r); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", addr, errors.Join(err, ctx.Err()))
	}
	if r.Error != "" {
		return nil, &answerError{addr, r.Error}
	}
	return &r, nil
}

// answerError is an answer in which a member says what went wrong.
type answerError struct{ addr, text string }

func (e *answerError) Error() string { return "answer of " + e.addr + ": " + e.text }

// Answered reports whether an error of Ask is the answer of the member that was asked.
func Answered(err error) bool {
	_, is := errors.AsType[*answerError](err)
	return is
}

// AskAll asks members side by side. A member that does not answer in time has a nil reply.
func (p *Peers) AskAll(ctx context.Context, addrs []string, q Request) []*Reply {
	replies := make([]*Reply, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() {
			r, err := p.Ask(ctx, addr, q)
			if err != nil {
				p.logger.Debug("no answer from a peer", "addr", addr, "err", err)
				return
			}
			replies[i] = r
		})
	}
	wg.Wait()
	return replies
}

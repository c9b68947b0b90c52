package node

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
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// peerRequest is one question to another member, one JSON value per connection on mux.Peer; so is the answer.
// Unknown fields are ignored on both sides: neighbouring versions must understand each other (SPEC C4).
type peerRequest struct {
	Op   string   `json:"op"` // status, logs, progress, files, drop_logs
	Task task.Key `json:"task,omitzero"`

	// For maintenance.
	Area   maintain.Area `json:"area,omitempty"`
	After  string        `json:"after,omitempty"`
	Limit  int           `json:"limit,omitempty"`
	Token  uint64        `json:"token,omitempty"`
	Before task.Time     `json:"before,omitempty"`
	Names  []string      `json:"names,omitempty"`
}

type peerReply struct {
	Error string         `json:"error,omitempty"`
	Node  *api.Node      `json:"node,omitempty"`
	Logs  []logs.Attempt `json:"logs,omitempty"`

	Files   []maintain.File `json:"files,omitempty"`
	Dropped int64           `json:"dropped,omitempty"`
}

const (
	opStatus   = "status"
	opLogs     = "logs"
	opFiles    = "files"     // of an area of the member's disk
	opDropLogs = "drop_logs" // of tasks
	opProgress = "progress"  // answered by frames until one side has enough; see live
)

const (
	peerTimeout  = time.Second // of one question: a dead member must not hold up an answer for people
	maxPeerReply = 64 << 20    // logs of one task
	maxPeerAsk   = 64 << 10
)

// peers asks the other members and answers them.
type peers struct {
	net    mux.Network
	answer func(peerRequest) peerReply
	live   *live
	logger *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newPeers(network mux.Network, logger *slog.Logger, answer func(peerRequest) peerReply, live *live) *peers {
	ctx, cancel := context.WithCancel(context.Background())
	return &peers{net: network, answer: answer, live: live, logger: logger, ctx: ctx, cancel: cancel}
}

func (p *peers) close() {
	p.cancel()
	p.wg.Wait()
}

func (p *peers) serve() error {
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

func (p *peers) handle(c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(p.ctx, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(10 * peerTimeout))
	var q peerRequest
	if err := json.NewDecoder(io.LimitReader(c, maxPeerAsk)).Decode(&q); err != nil {
		p.logger.Debug("bad question of a peer", "err", err)
		return
	}
	if q.Op == opProgress {
		_ = c.SetDeadline(time.Time{})
		if err := p.live.serve(p.ctx, c); err != nil {
			p.logger.Debug("a node no longer listens to progress", "err", err)
		}
		return
	}
	if err := json.NewEncoder(c).Encode(p.answer(q)); err != nil {
		p.logger.Debug("cannot answer a peer", "err", err)
	}
}

// ask asks one member.
func (p *peers) ask(ctx context.Context, addr string, q peerRequest) (*peerReply, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	c, err := p.net.Dial(ctx, addr, mux.Peer)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return nil, err
	}
	var r peerReply
	if err := json.NewDecoder(io.LimitReader(c, maxPeerReply)).Decode(&r); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", addr, errors.Join(err, ctx.Err()))
	}
	if r.Error != "" {
		return nil, &peerError{addr, r.Error}
	}
	return &r, nil
}

// peerError is an answer of a member that says what went wrong there.
type peerError struct{ addr, text string }

func (e *peerError) Error() string { return "answer of " + e.addr + ": " + e.text }

// answered reports whether an error of ask is the answer of the member that was asked.
func answered(err error) bool {
	_, is := errors.AsType[*peerError](err)
	return is
}

// askAll asks members side by side; a member that does not answer in time has a nil reply.
func (p *peers) askAll(ctx context.Context, addrs []string, q peerRequest) []*peerReply {
	replies := make([]*peerReply, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() {
			r, err := p.ask(ctx, addr, q)
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

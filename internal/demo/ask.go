package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// taskJSON is what the demo reads of a task.
type taskJSON struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	Final      bool            `json:"final"`
	Result     json.RawMessage `json:"result"`
	Attempt    int             `json:"attempt"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt time.Time       `json:"finished_at"`
	Lease      *struct {
		Node string `json:"node"`
	} `json:"lease"`
	History []struct {
		Attempt int    `json:"attempt"`
		Node    string `json:"node"`
		Outcome string `json:"outcome"`
	} `json:"history"`
}

// account says who ran what, with which outcome.
func (t *taskJSON) account() string {
	var parts []string
	for _, a := range t.History {
		parts = append(parts, fmt.Sprintf("attempt %d on %s: %s", a.Attempt, a.Node, a.Outcome))
	}
	return strings.Join(parts, ", ")
}

// clusterJSON is what the demo reads of the cluster's status.
type clusterJSON struct {
	Leader string `json:"leader"`
	Nodes  []struct {
		ID           string `json:"id"`
		Role         string `json:"role"`
		Reachable    bool   `json:"reachable"`
		AppliedIndex uint64 `json:"applied_index"`
		Digest       string `json:"digest"`
	} `json:"nodes"`
	Workers []struct {
		ID   string `json:"id"`
		Node string `json:"node"`
	} `json:"workers"`
}

// task shows a task.
func (c *cluster) task(ctx context.Context, id string) (*taskJSON, error) {
	out, err := c.cli(ctx, "get", id, "-o", "json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Task taskJSON `json:"task"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, fmt.Errorf("taskrt get %s: %w", id, err)
	}
	return &answer.Task, nil
}

func (c *cluster) status(ctx context.Context) (*clusterJSON, error) {
	out, err := c.cli(ctx, "cluster", "status", "-o", "json")
	if err != nil {
		return nil, err
	}
	var s clusterJSON
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return nil, fmt.Errorf("taskrt cluster status: %w", err)
	}
	return &s, nil
}

// ready asks one node over HTTP.
func ready(ctx context.Context, n *trio.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/readyz", nil)
	if err != nil {
		return false, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s: /readyz says %s", n.ID, res.Status)
	}
	return true, nil
}

package node

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Workers implements api.Service: sessions by ID, then the programs that hold external leases, by name.
func (n *Node) Workers(ctx context.Context) ([]api.Worker, error) {
	ws := []api.Worker{}
	err := n.read(ctx, readOptions{}, func(m *task.Machine) { ws = workersOf(m) })
	if err != nil {
		return nil, err
	}
	return ws, nil
}

// sessionWorker is a worker with a session, as the API shows it.
func sessionWorker(m *task.Machine, s *task.Session) api.Worker {
	return api.Worker{
		ID: s.Worker, Kind: "session", Node: s.Node, Session: s.ID, Slots: cmp.Or(s.Runs, s.Slots), Running: s.Running,
		Drained: s.Node != "" && m.Drained(s.Node),
	}
}

func workersOf(m *task.Machine) []api.Worker {
	ws := []api.Worker{}
	for _, s := range m.Sessions() {
		ws = append(ws, sessionWorker(m, s))
	}
	external := m.ExternalWorkers()
	for _, name := range slices.Sorted(maps.Keys(external)) {
		ws = append(ws, api.Worker{ID: name, Kind: "external", Running: external[name]})
	}
	return ws
}

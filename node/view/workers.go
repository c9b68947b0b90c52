package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Workers shows sessions by ID, and then the programs that hold external leases, by name.
func Workers(m *task.Machine) []api.Worker {
	ws := []api.Worker{}
	for _, s := range m.Sessions() {
		ws = append(ws, api.Worker{
			ID: s.Worker, Kind: "session", Node: s.Node, Session: s.ID, Slots: cmp.Or(s.Runs, s.Slots), Running: s.Running,
			Drained: s.Node != "" && m.Drained(s.Node),
		})
	}
	external := m.ExternalWorkers()
	for _, name := range slices.Sorted(maps.Keys(external)) {
		ws = append(ws, api.Worker{ID: name, Kind: "external", Running: external[name]})
	}
	return ws
}

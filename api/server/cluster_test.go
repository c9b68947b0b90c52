package server_test

import (
	"testing"

	"github.com/taskrt/taskrt/api/server"
)

// TestClusterHeader: every answer names its cluster, errors too. A request for another cluster is refused before anything is done (SPEC C2).
func TestClusterHeader(t *testing.T) {
	own := "ours"
	s := newServer(t, server.Config{Cluster: func() string { return own }})
	for _, path := range []string{"/healthz", "/v1/tasks", "/v1/tasks/nobody", "/nowhere", "/taskstore/groups"} {
		if a := s.do("GET", path, ""); a.header.Get("Taskrt-Cluster") != own {
			t.Errorf("%s: %q", path, a.header)
		}
		s.want(s.do("GET", path, "", "Taskrt-Cluster", "theirs"), 421, "other_cluster", "")
	}
	submit := `{"behavior":"apitest.ok","id":"one"}`
	s.want(s.do("POST", "/v1/tasks", submit, "Taskrt-Cluster", "theirs"), 421, "other_cluster", "")
	s.want(s.do("GET", "/v1/tasks/one", ""), 404, "task_not_found", "")
	if a := s.do("POST", "/v1/tasks", submit, "Taskrt-Cluster", own); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	own = "" // as before a cluster is founded
	a := s.do("GET", "/v1/tasks", "", "Taskrt-Cluster", "ours")
	s.want(a, 503, "not_ready", "")
	if _, has := a.header["Taskrt-Cluster"]; has {
		t.Errorf("%q", a.header)
	}
	s.want(s.do("GET", "/v1/tasks", ""), 200, "", "")
}

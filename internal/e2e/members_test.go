package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// addNode starts one more node, which joins.
func (c *cluster) addNode(id string, extra ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, id: id, dir: c.t.TempDir(), http: freeAddr(c.t)}
	join := c.nodes[0].args[slices.Index(c.nodes[0].args, "--join")+1]
	p.args = append([]string{"server", "--id", id, "--dir", filepath.Join(p.dir, "data"), "--http", p.http, "--raft", freeAddr(c.t), "--join", join, "--worker", "none"}, extra...)
	p.start()
	c.t.Cleanup(func() {
		if p.running() {
			p.kill9()
		}
		if c.t.Failed() {
			c.t.Logf("log of %s:\n%s", id, p.log())
		}
	})
	return p
}

// votes lists who votes.
func (c *cluster) votes() (ids []string) {
	c.t.Helper()
	_, data := c.insist(c.t.Context(), 0, http.MethodGet, "/v1/cluster/members", nil)
	var answer struct {
		Members []struct {
			ID    string `json:"id"`
			Voter bool   `json:"voter"`
		} `json:"members"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		c.t.Fatalf("%v: %s", err, data)
	}
	for _, m := range answer.Members {
		if m.Voter {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// insisting submits through one node after the other until one of them takes the task: a node may be killed, and leadership may move.
func (c *cluster) insisting(n int, body string) ([]byte, error) {
	for ; ; n++ {
		switch code, data := c.insist(c.t.Context(), n%3, http.MethodPost, "/v1/tasks?wait=1m", json.RawMessage(body)); code {
		case 0: // the node was killed: the next one is asked for the same
		case http.StatusCreated, http.StatusOK:
			return data, nil
		default:
			return nil, fmt.Errorf("%d: %s", code, data)
		}
	}
}

// refused runs a command that must fail, and returns what it says.
func (c *cluster) refused(args ...string) string {
	c.t.Helper()
	out, err := c.command(binary, args...).CombinedOutput()
	if err == nil {
		c.t.Errorf("taskrt %s succeeds: %s", strings.Join(args, " "), out)
	}
	return string(out)
}

// TestMembersFromTheCommandLine: a cluster grows from three to five and shrinks back under load, its members are replaced, and leadership is
// handed over: by commands, each said once. No request fails but for those that a node refuses that goes, and no task is lost (SPEC C2).
func TestMembersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret)
	c.push("wordcount")
	load := startLoadBy(t, c, c.insisting)
	said := func(want string, args ...string) {
		t.Helper()
		if got := c.taskrt(binary, append([]string{"cluster"}, args...)...); !strings.Contains(got, want) {
			t.Errorf("taskrt cluster %s: %q, want %q", strings.Join(args, " "), got, want)
		}
	}
	n4 := c.addNode("n4", "--cluster-secret", secret)
	n5 := c.addNode("n5", "--cluster-secret", secret)
	c.eventually("the newcomers follow", func() bool {
		out := c.taskrt(binary, "cluster", "status")
		return strings.Count(out, "when approved") == 2
	})
	said("n4 votes", "approve", "n4")
	said("n5 votes", "approve", "n5")
	if got := c.votes(); !slices.Equal(got, []string{"n1", "n2", "n3", "n4", "n5"}) {
		t.Errorf("these vote: %v", got)
	}
	said("n4 leads", "transfer", "n4")
	said("n4 was removed", "remove", "n4") // it leads
	c.eventually("n4 ends", func() bool { return !n4.running() })
	if !strings.Contains(n4.log(), "was removed from its cluster") {
		t.Errorf("n4 does not say why it ends:\n%s", n4.log())
	}
	if code := n4.cmd.ProcessState.ExitCode(); code != 8 {
		t.Errorf("n4 ends with code %d", code)
	}
	n4.start() // its directory never comes back
	c.eventually("n4 ends again", func() bool { return !n4.running() })
	said("n5 does not vote any more", "demote", "n5")
	said("n5 was removed", "remove", "n5")
	c.eventually("n5 ends", func() bool { return !n5.running() })
	if got := c.votes(); !slices.Equal(got, []string{"n1", "n2", "n3"}) {
		t.Errorf("these vote: %v", got)
	}

	n3 := c.nodes[2]
	n3.kill9()
	if out := c.refused("cluster", "remove", "n2"); !strings.Contains(out, "no majority") || !strings.Contains(out, "n3 does not answer") || !strings.Contains(out, "--force") {
		t.Errorf("the refusal says: %s", out)
	}
	n3.start()
	c.waitReady()
	load.progress()
	load.stop()
	load.allDone()
	for i := range load.done {
		if n := load.done[i].Load(); n < 20 {
			t.Errorf("caller %d submitted %d tasks only", i, n)
		}
	}
	c.digestsAgree()
}

// TestAdvertisedAddresses: nodes listen on all addresses of the machine and are found by a name (SPEC C1). A worker and the command line find
// them by what they advertise; a node that listens elsewhere the next time is found again; what others cannot dial is refused at the start.
func TestAdvertisedAddresses(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := &cluster{t: t, http: &http.Client{Timeout: patience}}
	c.trust(authorities(t, secret))
	c.prove(rootToken(t, secret))
	port := func() string { _, p, _ := strings.Cut(freeAddr(t), ":"); return p }
	raft := []string{port(), port(), port()}
	var join []string
	for _, p := range raft {
		join = append(join, "dns:localhost:"+p)
	}
	flags := func(p *process, raft string) []string {
		_, web, _ := strings.Cut(p.http, ":")
		return []string{
			"server", "--id", p.id, "--dir", filepath.Join(p.dir, "data"), "--http", "0.0.0.0:" + web, "--http-advertise", p.http, "--raft", "0.0.0.0:" + raft,
			"--raft-advertise", "localhost:" + raft, "--join", strings.Join(join, ","), "--bootstrap-expect", "3", "--cluster-secret", secret,
		}
	}
	for i := range 3 {
		p := &process{t: t, id: fmt.Sprintf("n%d", i+1), dir: t.TempDir(), http: "localhost:" + port()}
		p.shareCode()
		p.args = flags(p, raft[i])
		c.nodes = append(c.nodes, p)
		p.start()
	}
	t.Cleanup(c.stop)
	c.waitReady()
	out := c.taskrt(binary, "cluster", "status")
	for i, p := range c.nodes {
		for _, want := range []string{"https://" + p.http, "localhost:" + raft[i]} {
			if !strings.Contains(out, want) {
				t.Errorf("the status does not name %s:\n%s", want, out)
			}
		}
	}
	derived := filepath.Join(t.TempDir(), "worker.secret")
	workerSecret(t, secret, derived)
	c.addWorker("w1", 4, "--cluster-secret", derived)
	c.push("wordcount")
	if got := c.taskrt(binary, "submit", "wordcount", "--params", `{"text":"a"}`, "--wait"); !strings.Contains(got, `"total":1`) {
		t.Errorf("a task: %s", got)
	}
	moved := c.nodes[1]
	moved.terminate()
	moved.args = flags(moved, port())
	moved.start()
	c.waitReady()
	c.digestsAgree()
	for what, args := range map[string][]string{
		"--raft-advertise": {"--raft", "0.0.0.0:7170"}, "--http-advertise": {"--http-advertise", "0.0.0.0:7070"}, "--join": {"--join", "dns:nodes"},
	} {
		cmd := leash.Command(binary, append([]string{"server", "--id", "x", "--dir", t.TempDir(), "--cluster-secret", secret}, args...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), what) {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

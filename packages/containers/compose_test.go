package containers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// composition reads the compose file as Docker Compose does: what the specification does not know is an error.
func composition(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// version is that of the tree.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// settings are a service's variables.
func settings(s types.ServiceConfig) map[string]string {
	all := map[string]string{}
	for name, value := range s.Environment {
		if value != nil {
			all[name] = *value
		}
	}
	return all
}

// TestCompose: three nodes that differ in their names, their volumes and their published ports only, and that have no more rights than they need.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := composition(t)
	names := slices.Sorted(maps.Keys(p.Services))
	if p.Name != "taskrt" || !slices.Equal(names, []string{"n1", "n2", "n3"}) {
		t.Fatalf("%s: %v", p.Name, names)
	}
	ports := map[string]bool{}
	for name, s := range p.Services {
		env := settings(s)
		want := map[string]string{
			"TASKRT_ID": name, "TASKRT_RAFT_ADVERTISE": name + ":7170", "TASKRT_JOIN": "n1:7170,n2:7170,n3:7170", "TASKRT_BOOTSTRAP_EXPECT": "3",
			"TASKRT_CLUSTER_SECRET": "/run/secrets/cluster-secret",
		}
		if !maps.Equal(env, want) || s.Hostname != name {
			t.Errorf("%s is called %s and is told %v", name, s.Hostname, env)
		}
		if s.Image != "taskrt:"+version(t) {
			t.Errorf("%s runs %s; the version is %s", name, s.Image, version(t))
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s has rights that it does not need", name)
		}
		if s.Restart != "unless-stopped" || s.StopGracePeriod == nil || s.HealthCheck == nil || s.HealthCheck.Disable {
			t.Errorf("%s: restart %q, grace %v, health %v", name, s.Restart, s.StopGracePeriod, s.HealthCheck)
		}
		if len(s.Volumes) != 1 || s.Volumes[0].Type != types.VolumeTypeVolume || s.Volumes[0].Source != name || s.Volumes[0].Target != "/data" {
			t.Errorf("%s keeps %v", name, s.Volumes)
		}
		if _, ok := p.Volumes[name]; !ok {
			t.Errorf("there is no volume %s", name)
		}
		if len(s.Secrets) != 1 || s.Secrets[0].Source != "cluster-secret" || p.Secrets["cluster-secret"].File == "" {
			t.Errorf("%s has the secrets %v of %v", name, s.Secrets, p.Secrets)
		}
		if len(s.Ports) != 1 || s.Ports[0].Target != 7070 || s.Ports[0].HostIP != "127.0.0.1" || ports[s.Ports[0].Published] {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
		ports[s.Ports[0].Published] = true
	}
	other := composition(t, "TASKRT_IMAGE=registry.example/taskrt:1", "TASKRT_PUBLISH=0.0.0.0").Services["n2"]
	if other.Image != "registry.example/taskrt:1" || other.Ports[0].HostIP != "0.0.0.0" {
		t.Errorf("the variables count for nothing: %s, %v", other.Image, other.Ports)
	}
}

// network is a switch with a plug for each host, in namespaces of its own: nothing outside of them can be reached.
type network struct {
	t     *testing.T
	name  string
	hosts []string
}

func newNetwork(t *testing.T, hosts ...string) *network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("NOTHING IS RUN: %v: install iproute2", err)
	}
	n := &network{t: t, name: fmt.Sprintf("taskrt%d", os.Getpid()), hosts: hosts}
	n.add(n.name)
	n.ip("-n", n.name, "link", "add", "switch", "type", "bridge")
	n.ip("-n", n.name, "link", "set", "dev", "switch", "up")
	for i, host := range hosts {
		at := n.of(host)
		n.add(at)
		n.ip("-n", at, "link", "add", "eth0", "type", "veth", "peer", "name", fmt.Sprintf("to-%d", i), "netns", n.name)
		n.ip("-n", n.name, "link", "set", "dev", fmt.Sprintf("to-%d", i), "master", "switch", "up")
		n.ip("-n", at, "addr", "add", n.addr(i)+"/24", "dev", "eth0")
		n.ip("-n", at, "link", "set", "dev", "eth0", "up")
		n.ip("-n", at, "link", "set", "dev", "lo", "up")
	}
	return n
}

func (n *network) of(host string) string   { return n.name + host }
func (n *network) path(host string) string { return "/run/netns/" + n.of(host) }
func (n *network) addr(i int) string       { return fmt.Sprintf("10.231.77.%d", 11+i) }

func (n *network) add(name string) {
	n.t.Helper()
	n.ip("netns", "add", name)
	n.t.Cleanup(func() { n.ip("netns", "del", name) })
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// hostsFile is what Docker's own resolver says of the services.
func (n *network) hostsFile() string {
	text := "127.0.0.1 localhost\n"
	for i, host := range n.hosts {
		text += n.addr(i) + " " + host + "\n"
	}
	name := filepath.Join(passable(n.t), "hosts")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
	return name
}

// composed starts containers of what the compose file says.
type composed struct {
	t       *testing.T
	image   *image
	project *types.Project
	net     *network
	secret  string
	hosts   string
	volumes map[string]string
	started int
}

// up starts a service. What this test cannot translate, it refuses to overlook.
func (c *composed) up(name string) *container {
	c.t.Helper()
	s := c.project.Services[name]
	c.started++
	if c.volumes[name] == "" {
		c.volumes[name] = volume(c.t, false)
	}
	mounts := []specs.Mount{bind(c.hosts, "/etc/hosts", "ro")}
	for _, v := range s.Volumes {
		mounts = append(mounts, bind(c.volumes[v.Source], v.Target, "rw"))
	}
	for _, secret := range s.Secrets {
		if secret.Target != "" && secret.Target != "/run/secrets/"+secret.Source {
			c.t.Fatalf("%s wants its secret at %s", name, secret.Target)
		}
		mounts = append(mounts, bind(c.secret, "/run/secrets/"+secret.Source, "ro"))
	}
	one := newContainer(c.t, c.image, fmt.Sprintf("%s-%d", name, c.started), s.Command, settings(s), mounts...)
	one.spec.Hostname = s.Hostname
	one.spec.Root.Readonly = s.ReadOnly
	for name, limit := range s.Ulimits {
		if name != "nofile" {
			c.t.Fatalf("nobody has translated the limit %s", name)
		}
		one.spec.Process.Rlimits = []specs.POSIXRlimit{openFiles(c.t, limit.Single)}
	}
	one.plug(c.net, name)
	return one.start()
}

// openFiles is a limit of open files. This machine may not let anybody have more than it has itself.
func openFiles(t *testing.T, most int) specs.POSIXRlimit {
	t.Helper()
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	limit := min(uint64(most), own.Max)
	return specs.POSIXRlimit{Type: "RLIMIT_NOFILE", Hard: limit, Soft: limit}
}

// healthy waits for what the compose file calls so.
func (c *composed) healthy(one *container) {
	c.t.Helper()
	test := c.project.Services["n1"].HealthCheck.Test
	if len(test) < 3 || test[0] != "CMD" || test[1] != "/usr/bin/taskrt" {
		c.t.Fatalf("the health check is %v", test)
	}
	one.until(test[2:]...)
}

// TestComposeRuns: the three containers of the compose file, each in a network of its own behind one switch, found a cluster, do work, lose one, and
// come back from their volumes.
func TestComposeRuns(t *testing.T) {
	i := openImage(t)
	net := newNetwork(t, "n1", "n2", "n3")
	secret := newSecret(t, i)
	own(t, secret, 65532, 65532, 0o400) // as the file says
	c := &composed{t: t, image: i, project: composition(t), net: net, secret: secret, hosts: net.hostsFile(), volumes: map[string]string{}}
	nodes := map[string]*container{}
	all := func(f func(one *container)) {
		for _, name := range net.hosts {
			f(nodes[name])
		}
	}
	start := func() {
		for _, name := range net.hosts {
			nodes[name] = c.up(name)
		}
		all(c.healthy)
	}
	start()
	give(t, c.volumes["n1"], "echo.wasm", "../../testdata/wasm/echo.wasm")
	token := nodes["n1"].must("token", "root", "--cluster-secret", "/run/secrets/cluster-secret")
	reach := func(name string) []string {
		return []string{"--server", "https://" + name + ":7070", "--ca", nodes["n1"].must("secret", "ca", "/run/secrets/cluster-secret")}
	}
	do := func(at, server string, args ...string) string {
		t.Helper()
		nodes[at].env = []string{"TASKRT_TOKEN=" + token}
		return nodes[at].must(append(args, reach(server)...)...)
	}
	do("n1", "n2", "push", "/data/echo.wasm", "--name", "echo")
	do("n1", "n3", "submit", "echo", "--id", "first", "--params", `{"kept":1}`, "--wait")
	var status struct{ Nodes []struct{ ID string } }
	if out := do("n2", "n1", "cluster", "status", "-o", "json"); json.Unmarshal([]byte(out), &status) != nil || len(status.Nodes) != 3 {
		t.Errorf("the members: %s", out)
	}

	nodes["n2"].signal("KILL") // whoever leads
	if code := nodes["n2"].wait(); code != 137 {
		t.Errorf("exit code %d after SIGKILL", code)
	}
	do("n1", "n3", "submit", "echo", "--id", "second", "--params", "2", "--wait")
	nodes["n2"] = c.up("n2")
	c.healthy(nodes["n2"])
	if out := do("n2", "n2", "get", "second", "-o", "json"); !strings.Contains(out, `"status":"SUCCESS"`) {
		t.Errorf("the node that came back says %s", out)
	}

	all(func(one *container) { one.signal("TERM") })
	all(func(one *container) {
		if code := one.wait(); code != 0 {
			t.Errorf("%s: exit code %d after SIGTERM", one.id, code)
		}
	})
	start()
	if out := do("n3", "n1", "get", "first", "-o", "json"); !strings.Contains(out, `{"kept":1}`) {
		t.Errorf("after all were stopped: %s", out)
	}
}

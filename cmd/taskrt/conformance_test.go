package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/internal/built"
)

// TestConformanceOfACluster runs the suite of api.Service against a real cluster of three nodes, through all of them, and holds
// every answer against their OpenAPI document.
func TestConformanceOfACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	d := startDev(t)
	document := apitest.NewDocument(t, d.url)
	apitest.Run(t, func(t *testing.T) api.Service {
		client, err := apiclient.New(apiclient.Config{URLs: urlsOf(t, d), Transport: document})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	})
	document.Report(t, false)
}

// TestFollowersAnswer submits through one node and reads through another, linearizably.
func TestFollowersAnswer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	d := startDev(t)
	var nodes []*apiclient.Client
	for _, u := range urlsOf(t, d) {
		c, err := apiclient.New(apiclient.Config{URLs: []string{u}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		nodes = append(nodes, c)
	}
	if len(nodes) != 3 {
		t.Fatalf("%d nodes, want 3", len(nodes))
	}
	if _, err := nodes[0].Push(t.Context(), api.PushRequest{Name: "apitest.ok", Wasm: strings.NewReader(string(apitest.ModuleOK("")))}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		reply, err := nodes[i%3].Submit(t.Context(), api.SubmitRequest{Behavior: "apitest.ok"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[(i+1)%3].Task(t.Context(), "", reply.Task.ID, api.GetOptions{}); err != nil {
			t.Fatalf("read through another node right after the submit: %v", err)
		}
		got, err := nodes[(i+2)%3].Task(t.Context(), "", reply.Task.ID, api.GetOptions{Wait: patience})
		if err != nil || !got.Final {
			t.Fatalf("wait through a third node: %+v, %v", got, err)
		}
	}
}

// startDev starts `taskrt dev` on free ports for one test.
func startDev(t *testing.T) *daemon {
	t.Helper()
	path, err := exec.LookPath("taskrt") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := built.ShareCode(data); err != nil {
		t.Fatal(err)
	}
	d, err := startDaemon([]string{path, "dev", "--dir", data, "--http", "127.0.0.1:0", "--worker-slots", "2"}, t.TempDir(), []string{"TMPDIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if code := d.stop(); code != 0 {
			t.Errorf("taskrt dev: exit code %d; it said:\n%s", code, d.log())
		}
		d.kill()
	})
	return d
}

// urlsOf asks the cluster for the URLs of its nodes, as a program would.
func urlsOf(t *testing.T, d *daemon) []string {
	t.Helper()
	out, code := runHere(t.Context(), t, "cluster", "status", "-o", "json", "--server", d.url)
	if code != exit.OK {
		t.Fatalf("cluster status: exit code %d: %s", code, out)
	}
	var c api.Cluster
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, n := range c.Nodes {
		urls = append(urls, n.HTTP)
	}
	return urls
}

// here is held while a command runs in this process: the library of commands writes to a variable of its own, cli.HelpFlag.
var here sync.Mutex

// runHere runs a command in this process and returns what it printed.
func runHere(ctx context.Context, t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	here.Lock()
	defer here.Unlock()
	var out strings.Builder
	code = run(ctx, append([]string{"taskrt"}, args...), strings.NewReader(""), &out, &out)
	return out.String(), code
}

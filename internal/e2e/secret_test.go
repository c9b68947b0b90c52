package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// drawSecret writes a new cluster secret to a file as a newcomer would.
func drawSecret(t testing.TB) (file, text string) {
	t.Helper()
	out, err := leash.Command(binary, "secret", "new").Output()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "cluster.secret")
	writeSecret(t, file, string(out))
	return file, string(out)
}

// writeSecret writes a file that only its owner can read, as one with a secret must be.
func writeSecret(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// workerSecret derives what a worker on another machine needs.
func workerSecret(t *testing.T, cluster, file string) {
	t.Helper()
	out, err := leash.Command(binary, "secret", "worker", cluster).Output()
	if err != nil {
		t.Fatal(err)
	}
	writeSecret(t, file, string(out))
}

// rootToken is the root token of a file with one secret.
func rootToken(t testing.TB, file string) string {
	t.Helper()
	out, err := leash.Command(binary, "token", "root", "--cluster-secret", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// authorities writes a file of what clients trust: the certificates of the authorities of these secrets.
func authorities(t testing.TB, secrets ...string) (ca string) {
	t.Helper()
	ca = filepath.Join(t.TempDir(), "ca.pem")
	all := ""
	for _, file := range secrets {
		out, err := leash.Command(binary, "secret", "ca", "--pem", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		all += string(out)
	}
	writeSecret(t, ca, all)
	return ca
}

// TestClusterSecret: three nodes and a worker know each other by one file, their clients know them by its authority, and nobody else gets
// in (SPEC A2, A3, A11). The secret is replaced under load by three edits of the file: no request fails, no task is lost, nobody else comes
// to lead.
func TestClusterSecret(t *testing.T) {
	t.Parallel()
	secret, former := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret, "--worker", "none")
	derived := filepath.Join(t.TempDir(), "worker.secret")
	workerSecret(t, secret, derived)
	c.addWorker("w1", 4, "--cluster-secret", derived)
	c.push("wordcount")
	large := fmt.Sprintf(`{"text":%q}`, strings.Repeat("a ", 50_000)) // a blob, which the worker gets from a node
	file := filepath.Join(t.TempDir(), "large")
	writeSecret(t, file, large)
	if got := c.taskrt(binary, "submit", "wordcount", "--params", "@"+file, "--wait"); !strings.Contains(got, `"total":50000`) {
		t.Errorf("large params: %s", got)
	}

	port := c.nodes[0].args[slices.Index(c.nodes[0].args, "--raft")+1]
	plain, err := net.Dial("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = plain.Write([]byte("\x02"))
	_ = plain.SetReadDeadline(time.Now().Add(patience))
	if n, err := plain.Read(make([]byte, 64)); n > 7 || err == nil && n == 0 { // an alert at most
		t.Errorf("the port answers a stranger: %d bytes, %v", n, err)
	}
	strange, _ := drawSecret(t)
	n4 := &process{t: t, id: "n4", dir: t.TempDir(), http: freeAddr(t)}
	n4.args = []string{"server", "--id", "n4", "--dir", filepath.Join(n4.dir, "data"), "--http", n4.http, "--raft", freeAddr(t), "--join", port, "--cluster-secret", strange}
	n4.start()
	w2 := &process{t: t, id: "w2", dir: t.TempDir()}
	w2.args = []string{"worker", "--id", "w2", "--dir", filepath.Join(w2.dir, "data"), "--server", strings.Join(c.urls(), ","), "--cluster-secret", strange}
	w2.start()
	c.eventually("the stranger hears why", func() bool { return strings.Contains(w2.log(), "it has another cluster secret") })
	c.eventually("the refusal is counted", func() bool {
		return strings.Contains(c.nodes[0].log(), "refused a connection to the node port")
	})
	if st, ok := c.status(); !ok || len(st.Nodes) != 3 || c.hasWorker("w2") {
		t.Errorf("strangers got in: %+v", st)
	}
	n4.kill9()
	w2.kill9()

	nextFile, next := drawSecret(t)
	c.trust(authorities(t, secret, nextFile)) // as clients must before the former secret goes
	check := c.undisturbed()
	load := startLoad(t, c)
	// edit writes a file anew and waits until everybody has read it.
	edit := func(ps []*process, write func()) {
		t.Helper()
		load.progress()
		times := make([]int, len(ps))
		for i, p := range ps {
			times[i] = p.says("read the keys again")
		}
		write()
		for i, p := range ps {
			c.eventually(p.id+" reads the keys again", func() bool { return p.says("read the keys again") > times[i] })
		}
		load.progress()
	}
	for _, lines := range []string{former + next, next + former} {
		edit(c.nodes, func() { writeSecret(t, secret, lines) })
	}
	edit(c.workers, func() { workerSecret(t, secret, derived) }) // of both: the worker is told before the former one goes
	former0 := *c.token.Load()
	c.prove(rootToken(t, nextFile))
	load.progress()
	edit(c.nodes, func() { writeSecret(t, secret, next) })
	load.stop()
	c.prove(former0)
	if code, body := c.do(t.Context(), 0, "GET", "/v1/self", nil); code != http.StatusUnauthorized {
		t.Errorf("the root token of the former secret: %d %s", code, body)
	}
	c.prove(rootToken(t, nextFile))
	check()
	load.allDone()
	for _, p := range append(c.nodes, c.workers...) {
		for _, text := range []string{former, next} {
			if p.says(strings.TrimSpace(text)) > 0 {
				t.Errorf("%s logs a secret", p.id)
			}
		}
	}
}

// says counts a text in the whole log of a process.
func (p *process) says(text string) int {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Count(string(b), text)
}

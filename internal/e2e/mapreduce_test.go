package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// program is a process of examples/mapreduce.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // what it prints; closed at its end
	errs  bytes.Buffer
}

func startProgram(t *testing.T, env []string, path string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: leash.Command(path, args...), lines: make(chan string, 100_000)}
	p.cmd.Stderr, p.cmd.Env = &p.errs, append(os.Environ(), env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
	}()
	return p
}

// line waits for a line that begins so.
func (p *program) line(prefix string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended before it said %q: %s", prefix, &p.errs)
			}
			if strings.HasPrefix(l, prefix) {
				return
			}
		case <-late:
			p.t.Fatalf("it does not say %q", prefix)
		}
	}
}

// kill9 ends it at once.
func (p *program) kill9() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// words writes files of random words, and counts them.
func words(t *testing.T, files, each int) (names []string, counts map[string]int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	counts = map[string]int{}
	for i := range files {
		var text strings.Builder
		for range each {
			word := fmt.Sprint("w", random.IntN(1+random.IntN(300)))
			counts[word]++
			text.WriteString(strings.ToUpper(word) + []string{" ", ", ", ".\n", "-"}[random.IntN(4)])
		}
		name := filepath.Join(t.TempDir(), fmt.Sprint("text", i))
		if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names, counts
}

// TestMapReduce is SPEC X3: the word count of examples/mapreduce with several processes, of which some are killed in the
// middle of a map or a reduce task, and one node too. The counts are exact. The cluster has a secret, and the processes have a token.
func TestMapReduce(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret)
	path := filepath.Join(t.TempDir(), "mapreduce")
	if out, err := leash.Command("go", "build", "-o", path, "github.com/taskrt/taskrt/examples/mapreduce").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, want := words(t, 3, 8_000)
	servers := strings.Join(c.urls(), ",")
	env := []string{"TASKRT_TOKEN=" + c.draw("mapreduce", "default", "read", "submit", "work")}
	coordinator := startProgram(t, env, path, append([]string{"count", "-server", servers, "-ca", c.ca, "-split", "4096", "-reducers", "20"}, files...)...)

	// These never come to an end with their first map task, and are killed in the middle of it.
	for range 3 {
		victim := startProgram(t, env, path, "work", "-server", servers, "-ca", c.ca, "-lease", "2s", "-rest", "1h")
		victim.line("claimed map")
		victim.kill9()
	}
	if code, body := c.do(t.Context(), 0, "GET", "/taskstore/group/wordcount/map?owned=1", nil); code != http.StatusOK || !bytes.Contains(body, []byte(files[2])) {
		t.Errorf("the map tasks: %d %s", code, body)
	}

	workers := map[*program]bool{}
	reducing := make(chan *program, 1_000) // who has just claimed a reduce task
	work := func() *program {
		p := startProgram(t, env, path, "work", "-server", servers, "-ca", c.ca, "-lease", "2s", "-rest", "100ms")
		workers[p] = true
		return p
	}
	watch := func(p *program) {
		for l := range p.lines {
			if strings.HasPrefix(l, "claimed reduce") {
				reducing <- p
			}
		}
	}
	first := work()
	first.line("done map")
	c.nodes[c.leader()].kill9()
	go watch(first)
	for range 2 {
		go watch(work())
	}
	for killed := 0; killed < 2; { // two of them in the middle of a reduce task
		select {
		case p := <-reducing:
			if workers[p] {
				p.kill9()
				delete(workers, p)
				go watch(work())
				killed++
			}
		case <-time.After(patience):
			t.Fatal("nobody reduces")
		}
	}
	for _, p := range c.nodes {
		if !p.running() {
			p.start()
		}
	}

	got := map[string]int{}
	for l := range coordinator.lines {
		var n int
		var word string
		if _, err := fmt.Sscan(l, &n, &word); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		got[word] += n
	}
	if err := coordinator.cmd.Wait(); err != nil {
		t.Fatalf("the coordinator: %v\n%s", err, &coordinator.errs)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d words counted, want %d; or counts differ:\n%v\nwant\n%v", len(got), len(want), got, want)
	}
	for p := range workers {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a worker: %v\n%s", err, &p.errs)
		}
	}
	c.waitReady()
	if code, body := c.do(t.Context(), 0, "GET", "/taskstore/groups", nil); code != http.StatusOK || string(bytes.TrimSpace(body)) != "[]" {
		t.Errorf("groups that are left: %d %s", code, body)
	}
	c.digestsAgree()
}

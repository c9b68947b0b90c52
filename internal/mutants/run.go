package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// runner builds test binaries and runs them. It builds a package's binary without sabotage once, and runs each named test
// with it once: a test that fails without sabotage proves nothing.
type runner struct {
	dir     string
	sources *sources

	mu    sync.Mutex
	plain map[string]func() (string, error)        // package → its binary without sabotage
	green map[string]func() (time.Duration, error) // tests → how long they take without sabotage
}

func newRunner() (*runner, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	return &runner{dir: dir, sources: newSources(), plain: map[string]func() (string, error){}, green: map[string]func() (time.Duration, error){}}, nil
}

func (r *runner) close() { _ = os.RemoveAll(r.dir) }

// try runs the mutant's tests against the sabotaged file and says which test noticed it. Any error means that no test did, or
// that the entry is stale.
func (r *runner) try(m mutant) (by string, err error) {
	file, src, err := r.sources.sabotage(m)
	if err != nil {
		return "", err
	}
	took, err := r.baseline(m)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(r.dir, "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, file, src)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "test.bin")
	if err := build(m.Pkg, bin, "-overlay", overlay); err != nil {
		return "", fmt.Errorf("stale: %w", err)
	}
	// A sabotage that hangs the test is a failure of the test too.
	out, err := runTests(bin, m, 15*time.Second+10*took)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", fmt.Errorf("%s: the tests %s did not notice: %s", file, m.Run, m.Why)
	case errors.Is(err, context.DeadlineExceeded):
		return "hung", nil
	case errors.As(err, &exit):
		return noticed(out), nil
	}
	return "", err
}

func writeOverlay(dir, file, src string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(src), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{abs: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// build makes a test binary; without symbols, because linking is most of the work.
func build(pkg, bin string, args ...string) error {
	args = append([]string{"test", "-c", "-vet=off", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", bin}, args...)
	if out, err := leash.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not compile: %s", pkg, tail(out))
	}
	return nil
}

// baseline runs the mutant's tests without the sabotage, once for all mutants that name the same tests.
func (r *runner) baseline(m mutant) (time.Duration, error) {
	r.mu.Lock()
	plain := r.plain[m.Pkg]
	if plain == nil {
		bin := filepath.Join(r.dir, fmt.Sprintf("plain%d.bin", len(r.plain)))
		plain = sync.OnceValues(func() (string, error) { return bin, build(m.Pkg, bin) })
		r.plain[m.Pkg] = plain
	}
	key := fmt.Sprint(m.Pkg, " ", m.Run, " ", m.Times, " ", m.Real)
	green := r.green[key]
	if green == nil {
		green = sync.OnceValues(func() (time.Duration, error) {
			bin, err := plain()
			if err != nil {
				return 0, err
			}
			begun := time.Now()
			out, err := runTests(bin, m, 5*time.Minute)
			switch {
			case err != nil:
				return 0, fmt.Errorf("%s %s is red without any sabotage: %w\n%s", m.Pkg, m.Run, err, tail(out))
			case strings.Contains(string(out), "no tests to run"):
				return 0, fmt.Errorf("stale: no test of %s matches %s", m.Pkg, m.Run)
			}
			return time.Since(begun), nil
		})
		r.green[key] = green
	}
	r.mu.Unlock()
	return green()
}

// longer are flags that let a package's test binary take more time: a quick `go test` may not show a sabotage.
var longer = map[string][]string{"./internal/sim": {"-sim.seeds=12"}}

// runTests runs the mutant's tests from a binary; context.DeadlineExceeded says that they did not end in time.
func runTests(bin string, m mutant, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"-test.run", m.Run, "-test.failfast", "-test.count", strconv.Itoa(max(1, m.Times))}
	if !m.Real {
		args = append(args, "-test.short")
	}
	args = append(args, longer[m.Pkg]...)
	cmd := leash.CommandContext(ctx, bin, args...)
	cmd.Dir = m.Pkg
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, err
}

var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// noticed names the innermost test that failed, or how the binary ended.
func noticed(out []byte) string {
	if all := failed.FindAllSubmatch(out, -1); len(all) > 0 {
		return string(all[len(all)-1][1])
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

func tail(b []byte) string {
	if len(b) > 2000 {
		b = b[len(b)-2000:]
	}
	return string(b)
}

// Command mutants sabotages the code one line at a time and demands that a named test goes red for each. The tree is
// never touched: the changed file reaches the compiler through go test's -overlay.
//
//	go run ./internal/mutants            all of them
//	go run ./internal/mutants -share 3   a third, picked by the commit
//	go run ./internal/mutants -run token only those whose name contains it
//	go run ./internal/mutants -list
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// mutant is one sabotage: in File, Old (which must occur exactly once) becomes New; the tests Run of package Pkg must
// then fail. Why says what users would lose.
type mutant struct {
	Name, File, Old, New string
	Pkg, Run             string
	Why                  string
	// Real says that the test runs without -short, because only real processes show it.
	Real bool
}

// perMutant bounds one run; a sabotage that hangs the test is a failure of the test too, hence a kill.
const perMutant = 4 * time.Minute

func main() {
	share := flag.Int("share", 1, "run only one mutant in `N`, picked by the commit")
	run := flag.String("run", "", "only mutants whose name contains this `text`")
	list := flag.Bool("list", false, "print the mutants")
	flag.Parse()
	picked := pick(mutants, *share, *run)
	if *list {
		for _, m := range picked {
			fmt.Printf("%-34s %s: %s\n", m.Name, m.Pkg, m.Why)
		}
		return
	}
	survivors := 0
	for i, m := range picked {
		start := time.Now()
		verdict, err := try(m)
		fmt.Printf("%3d/%d %-34s %-8s %5.1fs  %s %s\n", i+1, len(picked), m.Name, verdict, time.Since(start).Seconds(), m.Pkg, m.Run)
		if err != nil {
			fmt.Printf("        %v\n", err)
			survivors++
		}
	}
	fmt.Printf("%d mutants, %d killed, %d survived\n", len(picked), len(picked)-survivors, survivors)
	if survivors > 0 || len(picked) == 0 {
		os.Exit(1)
	}
}

// pick selects by name and by a hash of (commit, name), so that each commit tests another part.
func pick(all []mutant, share int, text string) []mutant {
	commit, _ := exec.Command("git", "rev-parse", "HEAD").Output()
	var out []mutant
	for _, m := range all {
		h := fnv.New32a()
		h.Write(commit)
		h.Write([]byte(m.Name))
		if strings.Contains(m.Name, text) && (share <= 1 || h.Sum32()%uint32(share) == 0) {
			out = append(out, m)
		}
	}
	return out
}

// try runs the mutant's tests against the sabotaged file. Any error means that nobody noticed, or that the entry is stale.
func try(m mutant) (string, error) {
	src, err := os.ReadFile(m.File)
	if err != nil {
		return "stale", err
	}
	if n := strings.Count(string(src), m.Old); n != 1 {
		return "stale", fmt.Errorf("%s: the text to replace occurs %d times, want once: %q", m.File, n, m.Old)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "error", err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, m, string(src))
	if err != nil {
		return "error", err
	}
	bin := filepath.Join(dir, "test.bin")
	if out, err := exec.Command("go", "test", "-tags", "urfave_cli_no_docs", "-overlay", overlay, "-c", "-o", bin, m.Pkg).CombinedOutput(); err != nil {
		return "stale", fmt.Errorf("does not compile: %s", tail(out))
	}
	ctx, cancel := context.WithTimeout(context.Background(), perMutant)
	defer cancel()
	args := []string{"-test.run", m.Run, "-test.failfast"}
	if !m.Real {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = m.Pkg
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		return "stale", fmt.Errorf("no test matches %s", m.Run)
	case err == nil:
		return "SURVIVED", fmt.Errorf("%s: the tests did not notice: %s", m.File, m.Why)
	case errors.As(err, &exit):
		return "killed", nil
	}
	return "error", err
}

func writeOverlay(dir string, m mutant, src string) (string, error) {
	abs, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(changed, []byte(strings.Replace(src, m.Old, m.New, 1)), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{abs: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

func tail(b []byte) string {
	if len(b) > 2000 {
		b = b[len(b)-2000:]
	}
	return string(b)
}

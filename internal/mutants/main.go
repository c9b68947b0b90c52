// Command mutants sabotages the code one line at a time, and demands that a named test fails for each sabotage. The tree is
// never touched: the changed file reaches the compiler through go test's -overlay.
//
//	go run ./internal/mutants            all of them
//	go run ./internal/mutants -share 3   a third, picked by the commit
//	go run ./internal/mutants -run token only those whose name contains it
//	go run ./internal/mutants -list
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// mutant is one sabotage: in what directory Dir declares as In (a function "assign", a method "Machine.assign", a type, a
// variable or a constant), Old becomes New. Old must occur there exactly once; white space, comments and semicolons do not
// count. The tests Run of package Pkg must then fail. Why says what users would lose.
type mutant struct {
	Name, Dir, In, Old, New string
	Pkg, Run                string
	Why                     string
	// File says, instead of Dir and In, that the sabotage is of a file in another language. Old is then its text, every
	// character of it.
	File string
	// Times is how often the test runs at most, because chance decides whether one run shows the sabotage; 0: once.
	Times int
	// Real says that the test runs without -short, because only real processes show it.
	Real bool
}

func main() {
	share := flag.Int("share", 1, "run only one mutant in `N`, picked by the commit")
	run := flag.String("run", "", "only mutants whose name contains this `text`")
	list := flag.Bool("list", false, "print the mutants")
	jobs := flag.Int("j", runtime.NumCPU(), "how many to try at a time")
	flag.Parse()
	picked := pick(mutants, *share, *run)
	if *list {
		for _, m := range picked {
			fmt.Printf("%-34s %s: %s\n", m.Name, m.Pkg, m.Why)
		}
		return
	}
	if err := tryAll(picked, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pick selects by name and by a hash of (commit, name), so that each commit tests another part of the list.
func pick(all []mutant, share int, text string) []mutant {
	commit, _ := leash.Command("git", "rev-parse", "HEAD").Output()
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

// tryAll tries the mutants, jobs at a time, and prints a line for each.
func tryAll(picked []mutant, jobs int) error {
	r, err := newRunner()
	if err != nil {
		return err
	}
	defer r.close()
	begun := time.Now()
	var mu sync.Mutex
	done, survivors := 0, []string(nil)
	next := make(chan mutant)
	var wg sync.WaitGroup
	for range max(jobs, 1) {
		wg.Go(func() {
			for m := range next {
				start := time.Now()
				by, err := r.try(m)
				mu.Lock()
				done++
				verdict := "killed"
				if err != nil {
					verdict = "NOT KILLED"
					survivors = append(survivors, m.Name)
				}
				fmt.Printf("%3d/%d %-34s %-10s %5.1fs  %s %s\n", done, len(picked), m.Name, verdict, time.Since(start).Seconds(), m.Pkg, by)
				if err != nil {
					fmt.Printf("        %v\n", err)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range picked {
		next <- m
	}
	close(next)
	wg.Wait()
	fmt.Printf("%d mutants, %d killed, %d not, in %.0f s\n", len(picked), len(picked)-len(survivors), len(survivors), time.Since(begun).Seconds())
	switch {
	case survivors != nil:
		return fmt.Errorf("these sabotages went unnoticed, or their entries are wrong: %s", strings.Join(survivors, ", "))
	case len(picked) == 0:
		return fmt.Errorf("no mutant picked")
	}
	return nil
}

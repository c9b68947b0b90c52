// Command races runs the tests with the race detector, and runs a package again, once, whose process was ended by a fault of the detector itself.
//
// It leaves out the packages whose tests start no goroutine, and says which these are.
//
// Rarely the detector's runtime dies with "ThreadSanitizer: CHECK failed" (golang/go#78156). That says nothing of the tests.
//
//	go run ./internal/races FLAGS OF GO TEST -- PACKAGES
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/leash"
)

func main() {
	at := slices.Index(os.Args, "--")
	if at < 0 || at == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, "usage: races FLAGS OF GO TEST -- PACKAGES")
		os.Exit(2)
	}
	flags, packages := os.Args[1:at], os.Args[at+1:]
	packages, quiet, err := sift(flags, packages)
	if err != nil {
		fmt.Fprintln(os.Stderr, "races:", err)
		os.Exit(1)
	}
	fmt.Printf("races: in %d packages no test starts a goroutine: %s\n", len(quiet), strings.Join(quiet, " "))
	if !run(os.Stdout, packages, func(packages []string, read func(io.Reader) error) error { return goTest(flags, packages, read) }) {
		os.Exit(1)
	}
}

// sift leaves out the packages in which nothing can race.
func sift(flags, packages []string) (worth, quiet []string, err error) {
	var tags []string
	if at := slices.Index(flags, "-tags"); at >= 0 && at+1 < len(flags) {
		tags = flags[at : at+2]
	}
	all, err := list(tags, []string{"./..."})
	if err != nil {
		return nil, nil, err
	}
	j := &judge{all: all, known: map[string]traits{}}
	worth, quiet = j.part(packages)
	return worth, quiet, nil
}

// goTest tests packages, and lets read have the events. It returns nil if all tests passed.
func goTest(flags, packages []string, read func(io.Reader) error) error {
	cmd := leash.Command("go", slices.Concat([]string{"test", "-json"}, flags, packages)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := read(events); err != nil {
		_ = cmd.Process.Kill() // it writes what nobody reads
		_ = cmd.Wait()
		return err
	}
	return cmd.Wait()
}

// run tests packages, which are import paths, and shows on out what came of it. It reports whether each passed at last.
func run(out io.Writer, packages []string, test func(packages []string, read func(io.Reader) error) error) bool {
	first := results{}
	err := test(packages, func(r io.Reader) error { return first.read(r, out) })
	passed := err == nil
	var again []string
	for _, p := range packages {
		switch r := first[p]; {
		case r == nil || !r.ended:
			fmt.Fprintf(out, "races: %s has not ended\n", p)
			return false
		case r.failed && !r.detectorDied():
			return false
		case r.failed:
			again = append(again, p)
		}
	}
	if len(again) == 0 {
		return passed
	}
	for _, p := range again {
		fmt.Fprintf(out, "\nraces: THE RACE DETECTOR ITSELF DIED in %s (golang/go#78156): the package is run again, once\n\n", p)
	}
	second := results{}
	err = test(again, func(r io.Reader) error { return second.read(r, out) })
	for _, p := range again {
		if r := second[p]; r == nil || !r.ended || r.failed {
			fmt.Fprintf(out, "races: %s failed again\n", p)
			return false
		}
	}
	return err == nil
}

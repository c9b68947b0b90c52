// Command mapreduce counts words with several processes that share nothing but a taskrt cluster and the files to read:
// the classic example of the TaskStore API (SPEC X3), written against its HTTP contract with the standard library alone.
//
//	mapreduce work  -server http://127.0.0.1:7070 &     as many of these, on as many machines, as you like
//	mapreduce count -server http://127.0.0.1:7070 FILES...
//
// Workers may be killed at any moment; the counts are exact all the same. Read job.go for why.
//
// A cluster with a secret wants a token with the roles read, submit and work, in TASKRT_TOKEN. -ca says whom to trust there: what
// `taskrt secret ca --pem` prints.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mapreduce:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "work" && args[0] != "count" {
		return fmt.Errorf("say `mapreduce work` or `mapreduce count FILES...`")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	servers := flags.String("server", "http://127.0.0.1:7070", "URLs of nodes, separated by commas")
	ca := flags.String("ca", "", "file of certificates of whom to trust behind https; default: the system's")
	name := flags.String("job", "wordcount", "name of the job: the first part of the names of its groups")
	reducers := flags.Int("reducers", 4, "count: number of reduce tasks")
	split := flags.Int64("split", 32<<10, "count: bytes of a map task, about")
	lease := flags.Duration("lease", 10*time.Second, "work: how long a claim lasts; a living worker renews it")
	rest := flags.Duration("rest", 0, "work: rest so long with every task, to watch it work")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	store, err := newStore(strings.Split(*servers, ","), *ca, os.Getenv("TASKRT_TOKEN"))
	if err != nil {
		return err
	}
	j := &job{store: store, name: *name, lease: *lease, rest: *rest, out: out}
	if args[0] == "work" {
		err := j.work(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end; what it holds is free once the claim is over
		}
		return err
	}
	if *reducers < 1 || *split < 1 || flags.NArg() == 0 {
		return fmt.Errorf("give at least one file, one reducer and one byte per split")
	}
	counts, err := j.count(ctx, flags.Args(), *split, *reducers)
	if err != nil {
		return err
	}
	for _, word := range sortedByCount(counts) {
		fmt.Fprintln(out, counts[word], word)
	}
	return nil
}

// sortedByCount returns the words, the most frequent first.
func sortedByCount(counts map[string]int64) []string {
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return words
}

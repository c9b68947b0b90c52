package main

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/plugins/examples/words"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// reduce is the completion: it adds up the results of the partitions, one after the other. It needs memory for the sums and for
// one result. It may run more than once, and gives the same each time.
func reduce(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil || !t.Success { // of some parts only, there is nothing to say
		return err
	}
	arg, err := parse(t.Arg)
	if err != nil {
		return err
	}
	if t.Succeeded != arg.parts {
		return sdk.Fail("bad_partitions", `the operation must have as many partitions as "parts" says`)
	}
	sums, total := map[string]int64{}, int64(0)
	for p, err := range c.Partitions(0) {
		if err != nil {
			return sdk.Retryable("unreadable", "the partitions: "+err.Error())
		}
		if c.Heartbeat(p.Index, arg.parts).Cancelled() {
			return sdk.ErrCancelled
		}
		n, err := add(c, &p, sums)
		if err != nil {
			return err
		}
		total += n
	}
	c.SetResult(words.Encode(top(sums, arg.top), total))
	return nil
}

// add adds one partition's counts, and returns their total.
func add(c *sdk.Context, p *sdk.Partition, sums map[string]int64) (int64, error) {
	text := p.Result
	if p.Blob != "" {
		r, err := c.Blob(p.Blob)
		if err != nil {
			return 0, sdk.Retryable("unreadable", p.Name+": "+err.Error())
		}
		text = make([]byte, r.Size())
		if _, err := r.ReadAt(text, 0); err != nil {
			return 0, sdk.Retryable("unreadable", p.Name+": "+err.Error())
		}
	}
	v, err := tinyjson.Parse(text)
	if err != nil {
		return 0, sdk.Fail("bad_result", p.Name+": "+err.Error())
	}
	counts, _ := v.Get("words")
	for i, word := range counts.Keys() {
		n, _ := counts.Elems()[i].Int64()
		sums[word] += n
	}
	member, _ := v.Get("total")
	total, _ := member.Int64()
	return total, nil
}

// top keeps the n most frequent words; among words of the same count, the first in order. 0: all words.
func top(sums map[string]int64, n int64) map[string]int64 {
	if n == 0 || n >= int64(len(sums)) {
		return sums
	}
	names := make([]string, 0, len(sums))
	for w := range sums { // order-free: sorted below
		names = append(names, w)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	kept := map[string]int64{}
	for _, w := range names[:n] {
		kept[w] = sums[w]
	}
	return kept
}

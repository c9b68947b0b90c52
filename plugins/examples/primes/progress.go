package main

import (
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// progress is what a checkpoint says: there are count primes among the numbers up to done.
type progress struct {
	done  uint64
	count int64
}

// resume returns the progress of an earlier attempt, or the start. A checkpoint that makes no sense is as good as none.
func resume(c *sdk.Context, limit uint64) progress {
	if text, ok := c.Checkpoint(); ok {
		if at, ok := parseProgress(text); ok && at.done <= limit {
			c.Log(sdk.LevelInfo, "going on from the checkpoint "+string(text))
			return at
		}
	}
	if limit < 2 {
		return progress{done: limit}
	}
	return progress{done: 0, count: 1} // 2, which a sieve of odd numbers does not see
}

// parseProgress reads {"done":…,"count":…}. All segments but the last end at an even number.
func parseProgress(text []byte) (progress, bool) {
	v, err := tinyjson.Parse(text)
	if err != nil {
		return progress{}, false
	}
	member, _ := v.Get("done")
	done, ok1 := member.Int64()
	member, _ = v.Get("count")
	count, ok2 := member.Int64()
	ok := ok1 && ok2 && done > 0 && done%2 == 0 && count > 0
	return progress{uint64(done), count}, ok
}

// save makes the progress durable. While the cluster has no leader it is not possible: the next save will do.
func (p progress) save(c *sdk.Context) error {
	text := tinyjson.AppendInt(tinyjson.AppendMember([]byte{'{'}, "done"), int64(p.done))
	text = tinyjson.AppendInt(tinyjson.AppendMember(text, "count"), p.count)
	err := c.SaveCheckpoint(append(text, '}'))
	if err == sdk.ErrUnavailable { //nolint:errorlint // never wrapped, and package errors would be linked
		c.Log(sdk.LevelWarn, "no checkpoint now: "+err.Error())
		return nil
	}
	return err
}

// Primes counts the primes up to a limit: {"limit":100} → {"count":25}. It is the model of a long computation: it
// works in small steps, tells its progress after each, saves a checkpoint about every second, stops when asked to, and goes
// on from its checkpoint on another node.
package main

import (
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// maxLimit keeps the primes up to its square root, which every segment needs, within a few MB.
const maxLimit = 1_000_000_000_000

// checkpointEvery is how much work a lost worker may cost.
const checkpointEvery = sdk.Second

func init() {
	sdk.Register(sdk.Behavior{
		Name:             "primes",
		Description:      `counts the primes up to a limit: {"limit":N} → {"count":…}`,
		Run:              primes,
		Retry:            sdk.Retry{MaxAttempts: 3},
		HeartbeatTimeout: 30 * sdk.Second, // a segment takes milliseconds
		RunTimeout:       6 * sdk.Hour,
	})
}

func primes(c *sdk.Context) error {
	limit, err := parseParams(c.Params())
	if err != nil {
		return err
	}
	at := resume(c, limit)
	s := newSieve(limit)
	saved := c.Elapsed()
	for at.done < limit {
		end := min(at.done+segmentSpan, limit)
		at.count += s.count(at.done, end)
		at.done = end

		signals := c.Heartbeat(int64(at.done), int64(limit))
		if signals.Cancelled() {
			return sdk.ErrCancelled
		}
		if at.done == limit {
			break
		}
		if signals.Draining() || c.Elapsed()-saved >= checkpointEvery {
			if err := at.save(c); err != nil {
				return err
			}
			saved = c.Elapsed()
		}
		if signals.Draining() {
			return sdk.Yield(0)
		}
	}
	c.SetResult(append(tinyjson.AppendInt([]byte(`{"count":`), at.count), '}'))
	return nil
}

// parseParams reads {"limit":N}.
func parseParams(params []byte) (uint64, error) {
	v, err := tinyjson.Parse(params)
	if err != nil {
		return 0, sdk.Fail("bad_params", err.Error())
	}
	member, _ := v.Get("limit")
	limit, ok := member.Int64()
	if !ok || limit < 0 || limit > maxLimit {
		return 0, sdk.Fail("bad_params", `params must be {"limit":N} with an integer N from 0 to 1000000000000`)
	}
	return uint64(limit), nil
}

func main() {} // never called

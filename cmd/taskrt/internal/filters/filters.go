// Package filters reads the flags that say which tasks are meant (SPEC Q1).
package filters

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
)

// Kit makes flags of a command.
type Kit struct {
	String func(command, name, value, usage string, aliases ...string) cli.Flag
	List   func(command, name, usage string) cli.Flag
	Int    func(command, name string, value int, usage string) cli.Flag
}

// ranges are the times that a range can be of, with what each is the time of.
var ranges = [][2]string{{"created", "created"}, {"started", "whose last attempt began"}, {"finished", "whose last outcome is of"}}

// Flags are the filters of a command. All that are given must hold.
func Flags(k Kit, cmd string) []cli.Flag {
	flags := []cli.Flag{
		k.List(cmd, "status", "CREATED, RUNNING, SUCCESS, FAILURE, RETRYING (a failure that waits) or DEAD (one that is final); given several times: any of them"),
		k.String(cmd, "final", "", "true: with an outcome, and will not run again by themselves; false: the others"),
		k.List(cmd, "behavior", "of this behavior; * stands for any text; given several times: any of them"),
		k.List(cmd, "error", "with this code of an error; given several times: any of them"),
		k.List(cmd, "label", "NAME=VALUE; given several times: all of them"),
		k.String(cmd, "worker", "", "that this worker runs, or ran last"),
		k.String(cmd, "node", "", "that a worker of this node runs, or ran last"),
		k.String(cmd, "parent", "", "of this operation, or submitted by this task"),
		k.String(cmd, "id-prefix", "", "whose IDs begin with this"),
		k.String(cmd, "due-before", "", "due at this time or earlier"+when),
	}
	flags = append(flags, k.String(cmd, "since", "", "created this time or later, as --created-from"+when))
	for _, r := range ranges {
		flags = append(flags,
			k.String(cmd, r[0]+"-from", "", r[1]+" this time or later"+when),
			k.String(cmd, r[0]+"-to", "", r[1]+" before this time"+when))
	}
	return flags
}

// Names are the names of the flags.
func Names() []string {
	names := []string{"status", "final", "behavior", "error", "label", "worker", "node", "parent", "id-prefix", "due-before", "since"}
	for _, r := range ranges {
		names = append(names, r[0]+"-from", r[0]+"-to")
	}
	return names
}

const when = " (RFC 3339, or how long ago, like 90m)"

// Read reads the filters.
func Read(c *cli.Context, namespace string, now time.Time) (r api.ListRequest, err error) {
	r = api.ListRequest{
		Namespace: namespace, Statuses: slices.Clone(c.StringSlice("status")), Behaviors: c.StringSlice("behavior"), Errors: c.StringSlice("error"),
		Labels: c.StringSlice("label"), Worker: c.String("worker"), Node: c.String("node"), Parent: c.String("parent"), IDPrefix: c.String("id-prefix"),
	}
	for i, s := range r.Statuses {
		r.Statuses[i] = strings.ToUpper(s)
	}
	if s := c.String("final"); s != "" {
		final, err := strconv.ParseBool(strings.ToLower(s))
		if err != nil {
			return r, cmdline.Usagef(c, "--final is true or false")
		}
		r.Final = &final
	}
	var since *time.Time
	for _, at := range []struct {
		flag string
		to   **time.Time
	}{
		{"due-before", &r.DueBefore}, {"since", &since}, {"created-from", &r.Created.From}, {"created-to", &r.Created.To}, {"started-from", &r.Started.From},
		{"started-to", &r.Started.To}, {"finished-from", &r.Finished.From}, {"finished-to", &r.Finished.To},
	} {
		if *at.to, err = timeOf(c, at.flag, now); err != nil {
			return r, err
		}
	}
	if since != nil && r.Created.From != nil {
		return r, cmdline.Usagef(c, "--since is --created-from: give one of them")
	}
	r.Created.From = cmp.Or(r.Created.From, since)
	return r, nil
}

// timeOf reads a time, or how long ago it was; nil if there is none.
func timeOf(c *cli.Context, flag string, now time.Time) (*time.Time, error) {
	s := c.String(flag)
	if s == "" {
		return nil, nil
	}
	if ago, err := api.ParseDuration(s); err == nil {
		at := now.Add(-ago)
		return &at, nil
	}
	t, err := api.ParseTime(s)
	if err != nil {
		return nil, cmdline.Usagef(c, "--%s: %w; or how long ago, like 90m", flag, err)
	}
	return &t.Time, nil
}

// FailureFlags are the filters of failures, and how many groups there may be (SPEC Q2).
func FailureFlags(k Kit, cmd string) []cli.Flag {
	return []cli.Flag{
		k.List(cmd, "behavior", "of this behavior; * stands for any text; given several times: any of them"),
		k.List(cmd, "error", "with this code of an error; given several times: any of them"),
		k.Int(cmd, "limit", insight.DefaultGroups, "groups; all others are counted together"),
	}
}

// ReadFailures reads them.
func ReadFailures(c *cli.Context, namespace string) insight.FailuresRequest {
	return insight.FailuresRequest{Namespace: namespace, Behaviors: c.StringSlice("behavior"), Errors: c.StringSlice("error"), Limit: c.Int("limit")}
}

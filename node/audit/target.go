package audit

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// Called returns the caller of a command of a call. Of what a token steers Apply decides whether the token may (SPEC A5). The call's caller says by
// which route it came if the call is recorded; then the command's says on what it is, and fits the log. A command that only prepares others
// leaves no record.
func Called(by task.Caller, c task.Command) task.Caller {
	out := task.Caller{Token: by.Token, Look: by.Token != 0 && task.Steers(c)}
	if by.Route == "" {
		return out
	}
	if target, ok := targetOf(c); ok {
		out.From, out.Route, out.Target = audit.Cut(by.From, audit.MaxFrom), audit.Cut(by.Route, audit.MaxRoute), audit.Cut(target, audit.MaxTarget)
	}
	return out
}

// targetOf says on what a command is: the namespace, "/" and what in it, or what belongs to no namespace. ok is false for a command that only
// prepares others. A command that nobody has named here is recorded without a target.
func targetOf(c task.Command) (target string, ok bool) {
	of := func(namespace string, names ...string) (string, bool) {
		return namespace + "/" + strings.Join(names, ","), true
	}
	switch c := c.(type) {
	case task.NoteBlob, task.SelectJob, task.StepJob: // of a bulk job its start is recorded, and its end by somebody
		return "", false
	case task.CreateToken:
		return c.Name, true
	case task.RotateToken:
		return c.Name, true
	case task.RevokeToken:
		return c.Name, true
	case task.DrainNode:
		return c.Node, true
	case task.SetMember:
		return c.Node, true
	case task.HoldBlobs: // a backup that begins
		return "backup " + c.ID, !c.Renew && c.TTL > 0
	case task.Submit: // to create a task needs none of the roles that leave a record
		return c.Namespace + "/" + c.ID, c.IfExists == task.Rerun || c.IfExists == task.Resubmit
	case task.Cancel:
		return of(c.Key.Namespace, c.Key.ID)
	case task.Remove:
		return of(c.Key.Namespace, c.Key.ID)
	case task.RetryTask:
		return of(c.Key.Namespace, c.Key.ID)
	case task.Txn:
		return ofTxn(&c)
	case task.CancelOperation:
		return of(c.Key.Namespace, c.Key.ID)
	case task.RetryOperation:
		return of(c.Key.Namespace, c.Key.ID)
	case task.RemoveOperation:
		return of(c.Key.Namespace, c.Key.ID)
	}
	return targetOfSettings(c)
}

// targetOfSettings is targetOf for what is deployed and administered.
func targetOfSettings(c task.Command) (target string, ok bool) {
	of := func(namespace string, names ...string) (string, bool) {
		return namespace + "/" + strings.Join(names, ","), true
	}
	switch c := c.(type) {
	case task.PutBehavior:
		return of(c.Namespace, c.Name)
	case task.ActivateVersion:
		return of(c.Namespace, c.Name)
	case task.DeleteBehavior:
		return of(c.Namespace, c.Name)
	case task.PauseBehavior:
		return of(c.Namespace, c.Name)
	case task.Activate:
		var names []string
		for i := range c.Behaviors {
			names = append(names, c.Behaviors[i].Name)
		}
		return of(c.Namespace, names...)
	case task.PutNamespace:
		return of(c.Name)
	case task.SetNamespaceStatus:
		return of(c.Name)
	case task.ImportRecords:
		return of(c.Namespace)
	case task.StartJob:
		return of(c.Namespace, "job")
	case task.EndJob:
		return fmt.Sprint("job ", c.Number), true
	}
	return "", true
}

// ofTxn names the first task that a transaction changes, and says how many others it changes.
func ofTxn(c *task.Txn) (string, bool) {
	var ids []string
	for i := range c.Updates {
		ids = append(ids, c.Updates[i].ID)
	}
	for i := range c.Deletes {
		ids = append(ids, c.Deletes[i].ID)
	}
	for i := range c.Finishes {
		ids = append(ids, c.Finishes[i].Key.ID)
	}
	for i := range c.Submits {
		ids = append(ids, c.Submits[i].ID)
	}
	if len(ids) == 0 {
		return c.Namespace + "/", true
	}
	if len(ids) > 1 {
		return fmt.Sprintf("%s/%s and %d more", c.Namespace, ids[0], len(ids)-1), true
	}
	return c.Namespace + "/" + ids[0], true
}

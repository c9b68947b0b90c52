package task_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// storeCommand makes a command of the TaskStore API:
//
//	update CLIENT [add:GROUP:DATA[:TIME]]... [change:ID:DATA[:TIME]]... [delete:ID]... [depend:ID]...
//	claim CLIENT GROUP [duration=MS] [seed=N] [depend:ID]...
//
// DATA that is @DIGEST~SIZE is a blob.
func storeCommand(a *args) task.Command {
	ns, client := a.text("ns", task.DefaultNamespace), a.int(a.word(0))
	if a.verb == "claim" {
		c := task.StoreClaim{
			Namespace: ns, Client: client, Group: a.text("group", a.word(1)), Duration: task.Millis(a.number("duration", 0)),
			Seed: uint64(a.number("seed", 0)),
		}
		for _, w := range a.words[2:] {
			c.Depends = append(c.Depends, uint64(a.int(strings.TrimPrefix(w, "depend:"))))
		}
		return c
	}
	c := task.StoreUpdate{Namespace: ns, Client: client}
	for _, w := range a.words[1:] {
		parts := append(strings.Split(w, ":"), "", "", "0")
		at := parts[3]
		if at == "" {
			at = "0"
		}
		data, blob := recordData(parts[2])
		switch parts[0] {
		case "add":
			c.Adds = append(c.Adds, task.StoreAdd{Group: parts[1], Data: data, Blob: blob, Available: task.Time(a.int(at))})
		case "change":
			c.Changes = append(c.Changes, task.StoreChange{ID: uint64(a.int(parts[1])), Data: data, Blob: blob, Available: task.Time(a.int(at))})
		case "delete":
			c.Deletes = append(c.Deletes, uint64(a.int(parts[1])))
		case "depend":
			c.Depends = append(c.Depends, uint64(a.int(parts[1])))
		default:
			a.err = fmt.Errorf("unknown part %q", w)
		}
	}
	return c
}

func recordData(text string) (string, task.Payload) {
	content, size, ok := strings.Cut(text, "~")
	if !ok || !strings.HasPrefix(content, "@") {
		return text, task.Payload{}
	}
	p := *blobPayload(content + ":" + size)
	p.Encoding = task.Bytes
	return "", p
}

func (a *args) int(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		a.err = err
	}
	return n
}

// lookAtRecords is `records [GROUP [owned] [limit=N]]`: the groups, or the records of one.
func (s *script) lookAtRecords(a *args) {
	ns := a.text("ns", task.DefaultNamespace)
	if len(a.words) == 0 {
		fmt.Fprintf(&s.out, "groups %v\n", s.m.StoreGroups(ns))
		return
	}
	for _, r := range s.m.StoreGroup(ns, a.words[0], int(a.number("limit", 0)), len(a.words) > 1, s.h.Now) {
		fmt.Fprintln(&s.out, formatRecord(r))
	}
}

func formatRecord(r *task.StoreRecord) string {
	data := strconv.Quote(r.Data)
	if r.Blob.Blobs != nil {
		data += formatPayload(r.Blob)
	}
	return fmt.Sprintf("%d: %s %s owner=%d available=%d", r.ID, r.Group, data, r.Owner, r.Available)
}

func (f *fields) addRecords(r task.Result) {
	for _, x := range r.Records {
		f.add("record", "{"+formatRecord(x)+"}")
	}
	if no := r.Refusal; no != nil {
		f.add("changes", no.Changes)
		f.add("deletes", no.Deletes)
		f.add("depends", no.Depends)
		f.add("owned", no.Owned)
	}
}

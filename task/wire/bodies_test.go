package wire

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

func all(int, int) bool { return true }

// commandsOf returns the commands of proposals.
func commandsOf(ps []task.Proposal) (cs []task.Command) {
	for _, p := range ps {
		cs = append(cs, p.Command)
	}
	return cs
}

// TestBodies: what is encoded once stands in an entry, forwarded or not, as if it had been encoded there. Its weight is what it takes.
func TestBodies(t *testing.T) {
	ps := proposals()
	for i := range ps {
		if i%3 == 0 {
			ps[i].Origin.Body = 1 << 40 // as under a client's key
		}
	}
	h := task.Header{Now: 1 << 40, LeaseNow: 77}
	want, err := EncodeEntry(h, ps)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := Pack(commandsOf(ps), all)
	if err != nil || bodies.Len() != len(ps) {
		t.Fatal(bodies.Len(), err)
	}
	forwarded := EncodeProposals(ps, bodies)
	if plain, _ := EncodeEntry(task.Header{}, ps); !bytes.Equal(forwarded, plain) {
		t.Error("proposals look like no entry")
	}
	decoded, received, err := DecodeProposals(forwarded)
	if err != nil || !reflect.DeepEqual(decoded, ps) || received.Len() != len(ps) {
		t.Fatal(received.Len(), err)
	}
	for name, b := range map[string]Bodies{"own": bodies, "received": received} {
		total := 0
		for i := range ps {
			total += b.Size(i)
		}
		entry := Begin(h, len(ps), total)
		room := cap(entry)
		for i := range ps {
			before := len(entry)
			entry = b.Append(entry, i, &ps[i])
			called := len(appendEnvelope(nil, 1, ps[i].Origin, &ps[i].Caller)) - len(appendEnvelope(nil, 1, ps[i].Origin, &task.Caller{}))
			if took := len(entry) - before - called; took > b.Size(i) || took < b.Size(i)-maxEnvelope {
				t.Errorf("%s: command %d takes %d, and weighs %d", name, i, took, b.Size(i))
			}
		}
		if !bytes.Equal(entry, want) {
			t.Errorf("%s: an entry of bodies is another one", name)
		}
		if cap(entry) != room {
			t.Errorf("%s: an entry outgrew its room", name)
		}
	}
}

// TestPackStops: where no more fits, and at what no entry can hold.
func TestPackStops(t *testing.T) {
	ticks := slices.Repeat([]task.Command{task.Tick{}}, 10)
	one, err := Pack(ticks[:1], all)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Pack(ticks, func(size, bytes int) bool { return bytes <= 4*one.Size(0)+1 })
	if err != nil || b.Len() != 4 {
		t.Errorf("%d fit, %v", b.Len(), err)
	}
	if _, err := Pack(append(ticks, nil), all); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("none: %v", err)
	}
	long := task.DropBlobs{Digests: make([]string, maxArray+1)}
	if _, err := Pack(append(ticks, long), all); err == nil {
		t.Error("a list that no entry can hold was taken")
	}
}

// TestPartsAreWeighed: what fits into an entry is decided by the parts of a command, too.
func TestPartsAreWeighed(t *testing.T) {
	data := task.Payload{Encoding: task.Bytes, Data: make([]byte, 1000)}
	labels := []task.Label{{Name: "a", Value: string(make([]byte, 500))}}
	names := slices.Repeat([]string{strings.Repeat("n", 64)}, 100)
	policy := task.Policy{ParamsSchema: make([]byte, 1000), Operation: &task.OperationPolicy{Incompatible: names}}
	named := task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: names[0], Named: names}}
	for name, c := range map[string]struct {
		cmd  task.Command
		want int
	}{
		"submits":     {task.Txn{Submits: []task.Submit{{Params: data}, {Params: data, Labels: labels}}}, 2500},
		"updates":     {task.Txn{Updates: []task.TxnUpdate{{Params: &data}, {Labels: labels}}}, 1500},
		"finishes":    {task.Txn{Finishes: []task.Finish{{Result: data}, {Error: &task.Error{Details: data}}}}, 2000},
		"deletes":     {task.Txn{Deletes: make([]task.TxnDelete, 100), Depends: make([]task.TxnDepend, 100)}, 400},
		"named blobs": {task.Submit{Params: named}, 6400},
		"partitions":  {task.StartOperation{Names: names, Arg: data}, 7400},
		"counts":      {task.RecordRun{Run: task.MaintenanceRun{Objects: slices.Repeat([]task.ObjectCount{{Kind: names[0], Scanned: 1 << 40}}, 100)}}, 6400},
		"drops":       {task.DropTasks{Tasks: slices.Repeat([]task.KeyRev{{Key: task.Key{ID: names[0]}, Rev: 1 << 40}}, 100)}, 6400},
		"operations":  {task.DropOperations{Operations: slices.Repeat([]task.KeyRev{{Key: task.Key{ID: names[0]}}}, 100)}, 6400},
		"digests":     {task.DropBlobs{Digests: names}, 6400},
		"import":      {task.ImportRecords{Tasks: []*task.Task{{Params: data}}, Operations: []*task.Operation{{Names: names}}}, 7400},
		"policy":      {task.PutBehavior{Policy: policy}, 7400},
	} {
		bodies, err := Pack([]task.Command{c.cmd}, all)
		if err != nil {
			t.Fatal(name, err)
		}
		if got := bodies.Size(0); got < c.want || got > 2*c.want+maxEnvelope {
			t.Errorf("%s weighs %d, and holds %d", name, got, c.want)
		}
	}
}

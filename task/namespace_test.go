package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

const shop = "shop"

func shopKey(id string) task.Key { return task.Key{Namespace: shop, ID: id} }

// newShop returns a rig with a namespace that holds one of everything: what waits, runs and has ended.
func newShop(t testing.TB, options ...task.Option) *rig {
	r := newRig(t, nil, options...)
	r.must(task.PutNamespace{Name: shop, Create: true})
	for _, v := range []string{"v1", "v2"} {
		p := task.DefaultPolicy()
		p.Operation = &task.OperationPolicy{}
		r.must(task.Activate{
			Namespace: shop, Module: task.Module{Digest: "shop-" + v, Version: v},
			Behaviors: []task.Activated{{Name: "echo", Policy: p}},
		})
	}
	for _, id := range []string{"waits", "runs", "ended"} {
		r.must(task.Submit{Namespace: shop, ID: id, Behavior: "echo", Priority: 4})
	}
	r.must(task.Assign{Key: shopKey("runs"), Rev: r.m.Task(shopKey("runs")).Rev, Session: 1})
	r.must(task.Cancel{Key: shopKey("ended")})
	for _, id := range []string{"failed", "going"} {
		r.must(task.StartOperation{Namespace: shop, ID: id, Behavior: "echo", Partitions: 2, Priority: 4})
	}
	r.must(task.CancelOperation{Key: shopKey("failed")})
	r.must(task.StoreUpdate{Namespace: shop, Client: 1, Adds: []task.StoreAdd{{Group: "g", Data: "d"}}})
	return r
}

// purged makes the namespace of newShop PURGED, by a run of maintenance.
func (r *rig) purged() {
	token := r.maintain()
	for i := 0; ; i++ {
		if i == 100 {
			r.t.Fatal("the purge does not end")
		}
		if r.must(task.PurgeNamespace{Token: token, Namespace: shop, Max: 100}).Left == 0 {
			break
		}
		r.must(task.Tick{})
		if t := r.m.Task(shopKey("runs")); t != nil && t.Lease != nil {
			r.must(task.Finish{Key: t.Key(), Token: t.Lease.Token, Error: &task.Error{Code: "x"}})
		}
	}
	r.must(task.EndPurge{Token: token, Namespace: shop})
}

// TestNamespaceStatuses is SPEC N1: what a namespace takes in each status. A refusal changes nothing, which rig.apply's
// Check and the digest show.
func TestNamespaceStatuses(t *testing.T) {
	const (
		ok       = task.OK
		inactive = task.NamespaceInactive
		purging  = task.NamespacePurging
		none     = task.NamespaceNotFound
	)
	policy := task.DefaultPolicy()
	module := task.Module{Digest: "m3", Version: "v3"}
	one := task.Submit{Namespace: shop, ID: "new-one", Behavior: "echo", Priority: 4}
	again := func(how task.IfExists) task.Submit {
		return task.Submit{Namespace: shop, ID: "ended", Behavior: "echo", IfExists: how, Priority: 4}
	}
	running := func(r *rig) uint64 { // the token that the shop's running task has or had
		if t := r.m.Task(shopKey("runs")); t != nil && t.Lease != nil {
			return t.Lease.Token
		}
		return 1
	}
	for _, c := range []struct {
		name                      string
		command                   func(r *rig) task.Command
		active, idle, purge, gone task.Code
	}{
		{"submit", func(*rig) task.Command { return one }, ok, inactive, purging, none},
		{"join", func(*rig) task.Command { return again(task.Join) }, ok, inactive, purging, none},
		{"rerun", func(*rig) task.Command { return again(task.Rerun) }, ok, inactive, purging, none},
		{"resubmit", func(*rig) task.Command { return again(task.Resubmit) }, ok, inactive, purging, none},
		{"retry", func(*rig) task.Command { return task.RetryTask{Key: shopKey("ended")} }, ok, ok, purging, none},
		{"cancel", func(*rig) task.Command { return task.Cancel{Key: shopKey("waits")} }, ok, ok, ok, none},
		{"remove", func(*rig) task.Command { return task.Remove{Key: shopKey("ended")} }, ok, ok, ok, none},
		{"assign", func(r *rig) task.Command {
			rev := uint64(0)
			if t := r.m.Task(shopKey("waits")); t != nil {
				rev = t.Rev
			}
			return task.Assign{Key: shopKey("waits"), Rev: rev, Session: 1}
		}, ok, inactive, purging, task.NotEligible},
		{"finish", func(r *rig) task.Command { return task.Finish{Key: shopKey("runs"), Token: running(r)} }, ok, ok, ok, task.Halt},
		{"beat", func(r *rig) task.Command {
			return task.Beat{Key: shopKey("runs"), Token: running(r), Seq: 1, Progress: &task.Payload{Encoding: task.JSON, Data: []byte("1")}}
		}, ok, ok, ok, task.Halt},
		{"give back", func(r *rig) task.Command { return task.GiveBack{Key: shopKey("runs"), Token: running(r)} }, ok, ok, ok, task.Halt},
		{"txn that submits", func(*rig) task.Command { return task.Txn{Namespace: shop, Submits: []task.Submit{one}} }, ok, inactive, purging, none},
		{"txn that updates", func(*rig) task.Command {
			return task.Txn{Namespace: shop, Updates: []task.TxnUpdate{{ID: "waits", Priority: new(int8(1))}}}
		}, ok, ok, purging, none},
		{"txn that deletes", func(*rig) task.Command {
			return task.Txn{Namespace: shop, Deletes: []task.TxnDelete{{ID: "waits"}}}
		}, ok, ok, ok, none},
		{"activate", func(*rig) task.Command {
			return task.Activate{Namespace: shop, Module: module, Behaviors: []task.Activated{{Name: "echo", Policy: policy}}}
		}, ok, ok, purging, none},
		{"put behavior", func(*rig) task.Command {
			return task.PutBehavior{Namespace: shop, Name: "ext", Version: "e1", Policy: policy}
		}, ok, ok, purging, none},
		{"roll back", func(*rig) task.Command { return task.ActivateVersion{Namespace: shop, Name: "echo", Version: "v1"} }, ok, ok, purging, none},
		{"pause", func(*rig) task.Command { return task.PauseBehavior{Namespace: shop, Name: "echo", Paused: true} }, ok, ok, purging, none},
		{"delete behavior", func(*rig) task.Command { return task.DeleteBehavior{Namespace: shop, Name: "echo"} }, ok, ok, purging, none},
		{"store update", func(*rig) task.Command {
			return task.StoreUpdate{Namespace: shop, Client: 1, Adds: []task.StoreAdd{{Group: "g"}}}
		}, ok, inactive, purging, none},
		{"store claim", func(*rig) task.Command { return task.StoreClaim{Namespace: shop, Client: 1, Group: "g"} }, ok, inactive, purging, none},
		{"start operation", func(*rig) task.Command {
			return task.StartOperation{Namespace: shop, ID: "new-op", Behavior: "echo", Partitions: 1, Priority: 4}
		}, ok, inactive, purging, none},
		{"cancel operation", func(*rig) task.Command { return task.CancelOperation{Key: shopKey("going")} }, ok, ok, ok, none},
		{"retry operation", func(*rig) task.Command { return task.RetryOperation{Key: shopKey("failed")} }, ok, ok, purging, none},
		{"remove operation", func(*rig) task.Command { return task.RemoveOperation{Key: shopKey("going")} }, ok, ok, ok, none},
		{"import", func(*rig) task.Command {
			return task.ImportRecords{Namespace: shop, Records: []*task.StoreRecord{{Group: "g"}}}
		}, ok, ok, purging, none},
		{"settings", func(*rig) task.Command { return task.PutNamespace{Name: shop, Quota: &task.Quota{MaxTasks: 1}} }, ok, ok, purging, none},
		{"create", func(*rig) task.Command { return task.PutNamespace{Name: shop, Create: true} },
			task.NamespaceTaken, task.NamespaceTaken, task.NamespaceTaken, ok},
		{"make active", func(*rig) task.Command {
			return task.SetNamespaceStatus{Name: shop, Status: task.NamespaceIsActive}
		}, ok, ok, purging, none},
		{"make inactive", func(*rig) task.Command {
			return task.SetNamespaceStatus{Name: shop, Status: task.NamespaceIsInactive}
		}, ok, ok, purging, none},
		{"purge", func(*rig) task.Command {
			return task.SetNamespaceStatus{Name: shop, Status: task.NamespaceIsPurging}
		}, ok, ok, ok, none},
	} {
		for i, want := range []task.Code{c.active, c.idle, c.purge, c.gone} {
			status := task.NamespaceIsActive + task.NamespaceStatus(i)
			t.Run(fmt.Sprintf("%s/%s", c.name, status), func(t *testing.T) {
				r := newShop(t)
				if status != task.NamespaceIsActive {
					r.must(task.SetNamespaceStatus{Name: shop, Status: min(status, task.NamespaceIsPurging)})
				}
				if status == task.NamespaceIsPurged {
					r.purged()
				}
				before := r.m.Rev()
				results, events := r.propose(task.Proposal{Command: c.command(r)})
				if results[0].Code != want {
					t.Fatalf("%q (%s), want %q", results[0].Code, results[0].Message, want)
				}
				if want != task.OK && (r.m.Rev() != before || len(events) > 0) {
					t.Error("a refusal changed something")
				}
			})
		}
	}
}

// TestReservedNamespaces is the rest of SPEC N1: names, and who cannot be touched.
func TestReservedNamespaces(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{Namespaces: 4}))
	for _, c := range []struct {
		command task.Command
		want    task.Code
	}{
		{task.PutNamespace{Name: "_mine", Create: true}, task.NamespaceReserved},
		{task.PutNamespace{Name: task.SystemNamespace, Quota: &task.Quota{}}, task.NamespaceReserved},
		{task.PutNamespace{Name: task.DefaultNamespace, Create: true}, task.NamespaceTaken},
		{task.PutNamespace{Name: "ab", Create: true}, task.InvalidCommand},
		{task.PutNamespace{Name: "Shop", Create: true}, task.InvalidCommand},
		{task.PutNamespace{Name: "1shop", Create: true}, task.InvalidCommand},
		{task.PutNamespace{Name: "shop", Create: true, Quota: &task.Quota{MaxTasks: -1}}, task.InvalidCommand},
		{task.PutNamespace{Name: "shop", Create: true, Quota: &task.Quota{SubmitsPerSecond: 1_000_000_001}}, task.InvalidCommand},
		{task.SetNamespaceStatus{Name: task.SystemNamespace, Status: task.NamespaceIsInactive}, task.NamespaceReserved},
		{task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: task.NamespaceIsPurging}, task.NamespaceReserved},
		{task.SetNamespaceStatus{Name: "shop", Status: task.NamespaceIsPurged}, task.InvalidCommand},
		{task.SetNamespaceStatus{Name: "shop"}, task.InvalidCommand},
		{task.PutNamespace{Name: "shop-1", Create: true}, task.OK},
		{task.PutNamespace{Name: "shop_2", Create: true}, task.OK},
		{task.PutNamespace{Name: "shop-3", Create: true}, task.QuotaExceeded},
		{task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: task.NamespaceIsInactive}, task.OK},
		{task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: task.NamespaceIsActive}, task.OK},
	} {
		if got := r.apply(c.command); got.Code != c.want {
			t.Errorf("%T%+v: %q (%s), want %q", c.command, c.command, got.Code, got.Message, c.want)
		}
	}
}

// TestRetention is SPEC M2, T9: the behavior's word, then the namespace's, then the default.
func TestRetention(t *testing.T) {
	r := newRig(t, func(p *task.Policy) { p.KeepSuccess, p.KeepFailure, p.KeepCount = 5, -1, 7 })
	r.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "ext", Version: "e1", Policy: task.Policy{}})
	expect := func(behavior string, success, failure task.Millis, count int64) {
		t.Helper()
		if s, f, n := r.m.Retention(task.DefaultNamespace, behavior); s != success || f != failure || n != count {
			t.Errorf("%s: %d, %d, %d", behavior, s, f, n)
		}
	}
	expect("echo", 5, -1, 7)
	expect("ext", task.DefaultKeepSuccess, task.DefaultKeepFailure, 0)
	r.must(task.PutNamespace{Name: task.DefaultNamespace, Retention: &task.Retention{Success: 50, Failure: -1}})
	expect("echo", 5, -1, 7)
	expect("ext", 50, -1, 0)
	expect("nobody", 50, -1, 0)
	r.must(submit("keeps-it"))
	r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo"})
	expect("echo", 50, -1, 0)
}

// TestDefaultNamespaceIsNotPurged: everybody needs it (SPEC N1).
func TestDefaultNamespaceIsNotPurged(t *testing.T) {
	r := newRig(t, nil)
	if got := r.apply(task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: task.NamespaceIsPurging}); got.Code == task.OK {
		t.Error("the default namespace is being purged")
	}
}

package accept

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// bed is a leader's table over a machine. The test drives it by hand.
type bed struct {
	t     *testing.T
	m     *task.Machine
	table *Table
	index uint64
	now   int64 // in milliseconds; both clocks show it
	limit int   // how many acceptors one round offers
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, m: task.NewMachine(), table: NewTable(), now: 1_000_000, limit: 1024}
	p := task.DefaultPolicy()
	p.Lease = 30_000
	for _, name := range []string{"ext", "other"} {
		b.must(task.PutBehavior{Namespace: "default", Name: name, Version: "v1", Policy: p})
	}
	return b
}

func (b *bed) apply(cmds ...task.Command) []task.Result {
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command = c
	}
	b.index++
	rs, _ := b.m.Apply(task.Header{Index: b.index, Term: 1, Now: task.Time(b.now), LeaseNow: task.LeaseTime(b.now)}, ps)
	return rs
}

func (b *bed) must(c task.Command) task.Result {
	b.t.Helper()
	r := b.apply(c)[0]
	if r.Code != task.OK {
		b.t.Fatalf("%T: %+v", c, r)
	}
	return r
}

func (b *bed) submit(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		b.must(task.Submit{Namespace: "default", ID: id, Behavior: "ext", Priority: 4})
	}
}

func (b *bed) clock() Clock {
	return Clock{Mono: time.Duration(b.now) * time.Millisecond, Lease: task.LeaseTime(b.now)}
}

// plan is the first half of a round.
func (b *bed) plan() []task.Assign {
	as := b.m.Plan(b.table.Free(b.m, nil, b.limit), 1024)
	b.table.Planned(as, false)
	return as
}

// land is the second half of a round. It gives back the tasks that the table wants to give back, unless keep is set.
func (b *bed) land(as []task.Assign) {
	cmds := make([]task.Command, len(as))
	for i := range as {
		cmds[i] = as[i]
	}
	for _, back := range b.table.Landed(b.m, b.clock(), as, b.apply(cmds...)) {
		b.giveBack(back)
	}
}

func (b *bed) giveBack(back Back) {
	for _, t := range back.Tasks {
		b.must(task.GiveBack{Key: t.Key(), Token: t.Lease.Token, External: true})
	}
	b.table.Returned(b.m, b.clock(), back)
}

func (b *bed) round() {
	if as := b.plan(); len(as) > 0 {
		b.land(as)
	}
}

func (b *bed) task(id string) *task.Task {
	return b.m.Task(task.Key{Namespace: "default", ID: id})
}

// node is a node's end of a link.
type node struct {
	got    map[uint64]Answer
	closed bool
}

func newNode() *node { return &node{got: map[uint64]Answer{}} }

func (n *node) Reply(a Answer) { n.got[a.Call] = a }
func (n *node) Close()         { n.closed = true }

// ids returns the IDs of the tasks that answered a call. It is nil while the call has no answer.
func (n *node) ids(call uint64) []string {
	a, ok := n.got[call]
	if !ok {
		return nil
	}
	ids := []string{}
	for _, g := range a.Grants {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	return ids
}

func key(request string) Key { return Key{"default", "ext", "w", request} }

func (b *bed) ask(n *node, call uint64, request string, settle bool) {
	b.table.Ask(b.m, b.clock(), Ask{Call: call, Key: key(request), Max: 2, Settle: settle}, n)
}

func TestWaitersAreServedByAge(t *testing.T) {
	b, n := newBed(t), newNode()
	b.ask(n, 1, "r1", false)
	b.table.Ask(b.m, b.clock(), Ask{Call: 2, Key: key("r2"), Max: 1, Age: 60_000}, n) // it has waited under a former leader
	b.round()
	if len(n.got) != 0 {
		t.Fatalf("answered without a task: %v", n.got)
	}
	b.submit("t-1")
	b.round()
	if got := n.ids(2); !slices.Equal(got, []string{"t-1"}) || n.got[1].Grants != nil {
		t.Fatalf("answers %v", n.got)
	}
	b.submit("t-2", "t-3", "t-4")
	b.round()
	if got := n.ids(1); len(got) != 2 {
		t.Errorf("wanted 2, got %v", got)
	}
	if a := n.got[1]; a.Index != b.index || a.Grants[0].Left != 30_000 {
		t.Errorf("%+v", a)
	}
	if b.table.Len() != 0 {
		t.Errorf("%d still wait", b.table.Len())
	}
}

func TestSettleAnswersAfterTheRound(t *testing.T) {
	b, n := newBed(t), newNode()
	b.ask(n, 1, "r1", true)
	b.ask(n, 2, "r2", false)
	b.submit("t-1", "t-2", "t-3")
	as := b.plan()
	b.ask(n, 3, "r3", true) // it asks while assignments are under way
	b.land(as)
	if len(n.ids(1)) == 0 || len(n.ids(2)) == 0 || n.ids(3) != nil {
		t.Fatalf("answers %v", n.got)
	}
	b.round()
	if got := n.ids(3); got == nil || len(got) != 0 {
		t.Fatalf("nothing is left, but the answer is %v", got)
	}
	b.ask(n, 4, "r4", false)
	b.table.Settle(4)
	if n.ids(4) != nil {
		t.Error("answered before the round")
	}
	if b.round(); n.ids(4) == nil || b.table.Len() != 0 {
		t.Errorf("answers %v, %d wait", n.got, b.table.Len())
	}
}

// TestSettleBehindTheLimit: too many acceptors wait before one, so that the round does not offer it to Plan. It is not
// told that there is nothing.
func TestSettleBehindTheLimit(t *testing.T) {
	b, n := newBed(t), newNode()
	b.limit = 2
	b.submit("t-1", "t-2", "t-3", "t-4", "t-5")
	for call := uint64(1); call <= 4; call++ {
		b.table.Ask(b.m, b.clock(), Ask{Call: call, Key: key(fmt.Sprint(call)), Max: 1, Settle: true}, n)
	}
	b.round()
	if n.ids(1) == nil || n.ids(2) == nil || n.ids(3) != nil {
		t.Fatalf("after one round: %v", n.got)
	}
	b.round()
	if len(n.ids(3)) != 1 || len(n.ids(4)) != 1 {
		t.Errorf("after two: %v", n.got)
	}
	// Nobody can get anything, so the acceptor behind the limit is told at once.
	b.must(task.PauseBehavior{Namespace: "default", Name: "ext", Paused: true})
	b.ask(n, 11, "r11", false)
	b.ask(n, 12, "r12", false)
	b.ask(n, 13, "r13", true)
	if b.round(); n.ids(13) == nil || len(n.ids(13)) != 0 || n.ids(11) != nil {
		t.Errorf("paused: %v", n.got)
	}
}

func TestHangUpBeforeAndDuringTheCommit(t *testing.T) {
	b, n := newBed(t), newNode()
	b.ask(n, 1, "r1", false)
	b.table.Abandon(b.m, Abandon{1, key("r1")}, n)
	if a := n.got[1]; !a.Abandoned || b.table.Len() != 0 {
		t.Fatalf("%+v, %d wait", a, b.table.Len())
	}
	b.submit("t-1")
	b.ask(n, 2, "r2", false)
	as := b.plan()
	b.table.Abandon(b.m, Abandon{2, key("r2")}, n)
	if _, told := n.got[2]; told {
		t.Error("told before the leases are given back")
	}
	b.land(as)
	x := b.task("t-1")
	if x.Status != task.Created || x.LostCount != 0 || x.Failures != 0 || !n.got[2].Abandoned {
		t.Errorf("%+v, answer %+v", x, n.got[2])
	}
}

func TestUndeliveredIsGivenBack(t *testing.T) {
	b, n := newBed(t), newNode()
	b.submit("t-1")
	b.ask(n, 1, "r1", false)
	b.round()
	back, ok := b.table.Abandon(b.m, Abandon{1, key("r1")}, n)
	if !ok || len(back.Tasks) != 1 {
		t.Fatalf("%+v %v", back, ok)
	}
	// The client asks again at once. It must not get the lease that is being given back.
	b.ask(n, 2, "r1", false)
	if n.ids(2) != nil {
		t.Fatalf("answered with a dying lease: %v", n.got[2])
	}
	b.giveBack(back)
	if n.ids(2) != nil || b.task("t-1").Status != task.Created {
		t.Fatalf("%v", n.got[2])
	}
	b.round()
	if got := n.ids(2); !slices.Equal(got, []string{"t-1"}) || b.task("t-1").Attempt != 2 {
		t.Errorf("%v", n.got[2])
	}
}

func TestRepeatedRequestGetsTheSame(t *testing.T) {
	b, n1, n2 := newBed(t), newNode(), newNode()
	b.submit("t-1", "t-2", "t-3")
	b.ask(n1, 1, "r1", false)
	b.round()
	first := n1.got[1].Grants
	// The request comes through another node, under another leader.
	b.table = NewTable()
	b.ask(n2, 2, "r1", false)
	if got := n2.got[2].Grants; len(got) != 2 || got[0].Token != first[0].Token || got[1].Token != first[1].Token {
		t.Fatalf("%v, first %v", got, first)
	}
	// The first answer could not be delivered. This takes nothing away from the second answer.
	if _, ok := b.table.Abandon(b.m, Abandon{1, key("r1")}, n1); ok || !n1.got[1].Abandoned {
		t.Error("the repeated call lost its leases")
	}
	if _, ok := b.table.Abandon(b.m, Abandon{2, key("r1")}, n2); !ok {
		t.Error("nobody has the leases, and they are not given back")
	}
	// The same request of another worker is another accept.
	b.table.Ask(b.m, b.clock(), Ask{Call: 3, Key: Key{"default", "ext", "w2", "r1"}, Max: 9}, n2)
	if b.round(); !slices.Equal(n2.ids(3), []string{"t-3"}) {
		t.Errorf("%v", n2.got[3])
	}
}

func TestTwoCallsOfOneRequestWaitTogether(t *testing.T) {
	b, n := newBed(t), newNode()
	b.ask(n, 1, "r1", false)
	b.ask(n, 2, "r1", true)
	b.round()
	if n.ids(2) == nil || n.ids(1) != nil {
		t.Fatalf("%v", n.got)
	}
	b.ask(n, 3, "r1", false)
	b.table.Abandon(b.m, Abandon{1, key("r1")}, n)
	b.submit("t-1")
	if b.round(); !slices.Equal(n.ids(3), []string{"t-1"}) {
		t.Errorf("%v", n.got)
	}
}

// TestAskedAgainOverAnotherLink: a link ends during the commit, and the node asks again over another link.
func TestAskedAgainOverAnotherLink(t *testing.T) {
	b, n1, n2 := newBed(t), newNode(), newNode()
	b.submit("t-1")
	b.ask(n1, 1, "r1", false)
	as := b.plan()
	b.table.Drop(n1, []uint64{1})
	b.ask(n2, 1, "r1", false)
	b.land(as)
	if got := n2.ids(1); !slices.Equal(got, []string{"t-1"}) || len(n1.got) != 0 {
		t.Fatalf("%v, old link %v", n2.got, n1.got)
	}
	b.submit("t-2")
	b.ask(n1, 2, "r2", false)
	as = b.plan()
	b.table.Drop(n1, []uint64{2})
	b.land(as)
	b.ask(n2, 2, "r2", false)
	if got := n2.ids(2); !slices.Equal(got, []string{"t-2"}) {
		t.Errorf("found by its request: %v", n2.got)
	}
	b.ask(n1, 3, "r3", false)
	if b.table.Drop(n1, []uint64{3}); b.table.Len() != 0 {
		t.Error("an acceptor without a link still waits")
	}
}

func TestLostProposalMakesEveryNodeAskAgain(t *testing.T) {
	b, n := newBed(t), newNode()
	b.submit("t-1")
	b.ask(n, 1, "r1", false)
	b.plan()
	b.table.Lost()
	if !n.closed || b.table.Len() != 0 || len(n.got) != 0 {
		t.Fatalf("closed %v, %d wait, %v", n.closed, b.table.Len(), n.got)
	}
	// The leader was overloaded: nothing was proposed, and the acceptors wait on.
	b.ask(n, 2, "r2", false)
	b.plan()
	b.table.Landed(b.m, b.clock(), nil, nil)
	if b.round(); !slices.Equal(n.ids(2), []string{"t-1"}) {
		t.Errorf("%v", n.got)
	}
}

func TestMaxNotBeforeTakesEarlyTasks(t *testing.T) {
	b, n := newBed(t), newNode()
	b.must(task.Submit{Namespace: "default", ID: "t-1", Behavior: "ext", Priority: 4, NotBefore: task.Time(b.now + 5_000)})
	b.ask(n, 1, "r1", false)
	b.table.Ask(b.m, b.clock(), Ask{Call: 2, Key: key("r2"), Max: 1, MaxNotBefore: task.Time(b.now + 4_999)}, n)
	if b.round(); len(n.got) != 0 {
		t.Fatalf("too early: %v", n.got)
	}
	b.table.Ask(b.m, b.clock(), Ask{Call: 3, Key: key("r3"), Max: 1, MaxNotBefore: task.Time(b.now + 5_000)}, n)
	if b.round(); !slices.Equal(n.ids(3), []string{"t-1"}) || len(n.got) != 1 {
		t.Errorf("%v", n.got)
	}
}

func TestTooManyWait(t *testing.T) {
	b, n := newBed(t), newNode()
	for call := uint64(1); call <= MaxWaiting+1; call++ {
		b.ask(n, call, fmt.Sprint(call), false)
	}
	if b.table.Len() != MaxWaiting || len(n.got) != 1 || !n.got[MaxWaiting+1].Overload {
		t.Fatalf("%d wait, answers %v", b.table.Len(), n.got)
	}
	if free := b.table.Free(b.m, nil, 1024); len(free) != 0 {
		t.Errorf("%d are offered although there is no task", len(free))
	}
	b.submit("t-1")
	if free := b.table.Free(b.m, nil, 1024); len(free) != 1024 {
		t.Errorf("%d are offered", len(free))
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	var r repeats
	for i := range maxRepeats + 10 {
		r.note(key(fmt.Sprint(i)), uint64(i))
	}
	if _, ok := r.last(key("9")); ok || len(r.calls) != maxRepeats || len(r.order) != maxRepeats {
		t.Errorf("%d and %d are kept", len(r.calls), len(r.order))
	}
	if call, ok := r.last(key("10")); !ok || call != 10 {
		t.Error("the latest is forgotten")
	}
}

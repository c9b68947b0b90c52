package apitest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// These are the clients of the suite's TaskStore tests.
const (
	alice int64 = 7
	bob   int64 = -8
)

// storeUpdate makes an update that must succeed.
func (s *suite) storeUpdate(ctx context.Context, t *testing.T, r api.StoreUpdateRequest) []*api.StoreTask {
	t.Helper()
	reply, err := s.StoreUpdate(ctx, r)
	if err != nil || reply.Errors != nil {
		t.Fatalf("update %+v: %v %+v", r, err, reply)
	}
	return reply.Tasks
}

// storeErrors checks that an update or a claim was refused with these errors.
func storeErrors(t *testing.T, reply *api.StoreReply, err error, want api.StoreErrors) {
	t.Helper()
	if err != nil || reply.Errors == nil || len(reply.Tasks) > 0 {
		t.Fatalf("%+v, %v; want errors %+v", reply, err, want)
	}
	got := reply.Errors
	for _, c := range [][2][]uint64{{got.Changes, want.Changes}, {got.Deletes, want.Deletes}, {got.Depends, want.Depends}, {got.Owned, want.Owned}} {
		if !slices.Equal(c[0], c[1]) {
			t.Errorf("errors %+v, want %+v", got, want)
		}
	}
}

// storeGroup lists a group.
func (s *suite) storeGroup(ctx context.Context, t *testing.T, group string, limit int, owned bool) []*api.StoreTask {
	t.Helper()
	tasks, err := api.CollectStore(s.StoreGroup(ctx, "", group, limit, owned))
	if err != nil {
		t.Fatalf("list group %q: %v", group, err)
	}
	return tasks
}

// taskStore: records are immutable, and groups come and go with their records (SPEC X2).
func (s *suite) taskStore(ctx context.Context, t *testing.T) {
	const group, other = "apitest/ü b//%2F?#", "apitest.b"
	soon := time.Now().Add(time.Hour).UnixMilli()
	before := time.Now().UnixMilli()
	adds := s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Adds: []api.StoreAdd{
		{Group: group, Data: "<a>\u2028\x00"}, {Group: group, Data: "b", Timespec: soon}, {Group: other, Timespec: -3_600_000}, {Group: group, Timespec: 1},
	}})
	for i, want := range []api.StoreTask{
		{Group: group, Data: "<a>\u2028\x00", OwnerID: alice}, {Group: group, Data: "b", OwnerID: alice}, {Group: other, OwnerID: alice},
		{Group: group, OwnerID: alice},
	} {
		got := *adds[i]
		if i > 0 && got.ID <= adds[i-1].ID || got.ID == 0 || got.Timespec != got.Duration {
			t.Errorf("add %d: %+v", i, got)
		}
		at := []int64{before, soon, before + 3_600_000, 1}[i]
		if got.Timespec < at || got.Timespec > at+patience.Milliseconds() || i%2 == 1 && got.Timespec != at {
			t.Errorf("add %d is available at %d, want about %d", i, got.Timespec, at)
		}
		got.ID, got.Timespec, got.Duration = 0, 0, 0
		if got != want {
			t.Errorf("add %d: %+v, want %+v", i, got, want)
		}
	}
	if got := s.storeGroup(ctx, t, group, 0, true); !reflect.DeepEqual(got, []*api.StoreTask{adds[0], adds[1], adds[3]}) {
		t.Errorf("the group holds %+v", got)
	}
	if got := s.storeGroup(ctx, t, group, 0, false); !reflect.DeepEqual(got, []*api.StoreTask{adds[0], adds[3]}) {
		t.Errorf("available in the group: %+v", got)
	}
	if got := s.storeGroup(ctx, t, group, 2, true); !reflect.DeepEqual(got, []*api.StoreTask{adds[0], adds[1]}) {
		t.Errorf("the first two: %+v", got)
	}
	if got := s.storeGroup(ctx, t, "apitest.none", 0, true); len(got) != 0 {
		t.Errorf("a group that is not there holds %+v", got)
	}
	got, err := api.CollectStore(s.StoreTasks(ctx, "", []uint64{adds[2].ID, 1 << 62, adds[0].ID, adds[2].ID, 0}))
	if want := []*api.StoreTask{adds[2], nil, adds[0], adds[2], nil}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("by ID: %+v, %v", got, err)
	}
	if got, err := api.CollectStore(s.StoreTasks(ctx, "", nil)); err != nil || len(got) != 0 {
		t.Errorf("no IDs: %+v, %v", got, err)
	}
	s.taskStoreChanges(ctx, t, group, other, soon, adds)
}

// taskStoreChanges changes and deletes what taskStore has added.
func (s *suite) taskStoreChanges(ctx context.Context, t *testing.T, group, other string, soon int64, adds []*api.StoreTask) {
	t.Helper()
	changed := s.storeUpdate(ctx, t, api.StoreUpdateRequest{
		ClientID: bob, Adds: []api.StoreAdd{{Group: other, Data: "new"}},
		Updates: []api.StoreChange{{ID: adds[3].ID, Data: "d"}, {ID: adds[0].ID, Timespec: soon}},
		Deletes: nil, Depends: []uint64{adds[1].ID, adds[0].ID},
	})
	if len(changed) != 3 || changed[0].Data != "new" || changed[1].Data != "d" || changed[1].Group != group || changed[2].Data != "" ||
		changed[2].Timespec != soon || changed[2].OwnerID != bob || changed[0].ID >= changed[1].ID || changed[1].ID >= changed[2].ID {
		t.Errorf("changed: %+v %+v %+v", changed[0], changed[1], changed[2])
	}
	reply, err := s.StoreUpdate(ctx, api.StoreUpdateRequest{
		ClientID: bob, Adds: []api.StoreAdd{{Group: "apitest.never"}},
		Updates: []api.StoreChange{{ID: adds[0].ID}, {ID: adds[1].ID}, {ID: changed[2].ID}},
		Deletes: []uint64{adds[2].ID, adds[3].ID}, Depends: []uint64{adds[3].ID, 0, changed[0].ID},
	})
	storeErrors(t, reply, err, api.StoreErrors{
		Changes: []uint64{adds[0].ID}, Deletes: []uint64{adds[3].ID}, Depends: []uint64{adds[3].ID, 0}, Owned: []uint64{adds[1].ID, adds[2].ID},
	})
	groups, err := s.StoreGroups(ctx, "")
	if err != nil || !slices.Contains(groups, group) || !slices.Contains(groups, other) || slices.Contains(groups, "apitest.never") || !slices.IsSorted(groups) {
		t.Errorf("groups %q, %v", groups, err)
	}
	if got := s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Deletes: []uint64{adds[1].ID, changed[1].ID}}); len(got) != 0 {
		t.Errorf("deletes give %+v", got)
	}
	s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: bob, Deletes: []uint64{changed[2].ID}})
	if groups, err := s.StoreGroups(ctx, ""); err != nil || slices.Contains(groups, group) || !slices.Contains(groups, other) {
		t.Errorf("groups %q, %v after the last of one is gone", groups, err)
	}
}

// taskStoreClaims: a claim makes a new record, owned for its duration.
func (s *suite) taskStoreClaims(ctx context.Context, t *testing.T) {
	const group = "apitest.claims"
	claim := func(client int64, d time.Duration, depends ...uint64) *api.StoreReply {
		t.Helper()
		reply, err := s.StoreClaim(ctx, api.StoreClaimRequest{ClientID: client, Group: group, Duration: d, Depends: depends})
		if err != nil {
			t.Fatalf("claim: %v", err)
		}
		return reply
	}
	if reply := claim(alice, time.Hour); reply.Errors != nil || len(reply.Tasks) != 0 {
		t.Errorf("claim of nothing: %+v", reply)
	}
	reply := claim(alice, time.Hour, 1<<62)
	storeErrors(t, reply, nil, api.StoreErrors{Depends: []uint64{1 << 62}})
	adds := s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: bob, Adds: []api.StoreAdd{
		{Group: group, Data: "one"}, {Group: group, Data: "two"}, {Group: group, Data: "later", Timespec: -3_600_000},
	}})
	seen := map[string]bool{}
	var mine *api.StoreTask
	for range 2 {
		now := time.Now().UnixMilli()
		reply = claim(alice, time.Hour, adds[2].ID)
		if reply.Errors != nil || len(reply.Tasks) != 1 {
			t.Fatalf("claim: %+v", reply)
		}
		mine = reply.Tasks[0]
		seen[mine.Data] = true
		if mine.OwnerID != alice || mine.ID <= adds[2].ID || mine.Group != group || mine.Timespec < now+3_600_000 {
			t.Errorf("claimed %+v", mine)
		}
	}
	if !seen["one"] || !seen["two"] {
		t.Errorf("claimed %v", seen)
	}
	if reply = claim(bob, time.Hour); len(reply.Tasks) != 0 || reply.Errors != nil {
		t.Errorf("claimed what is owned: %+v", reply)
	}
	reply, err := s.StoreUpdate(ctx, api.StoreUpdateRequest{ClientID: bob, Updates: []api.StoreChange{{ID: mine.ID}}})
	storeErrors(t, reply, err, api.StoreErrors{Owned: []uint64{mine.ID}})
	renewed := s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Updates: []api.StoreChange{{ID: mine.ID, Data: "renewed", Timespec: -60_000}}})
	reply, err = s.StoreUpdate(ctx, api.StoreUpdateRequest{ClientID: alice, Deletes: []uint64{mine.ID}})
	storeErrors(t, reply, err, api.StoreErrors{Deletes: []uint64{mine.ID}})
	// A record that is given up is available to anybody at once.
	s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Updates: []api.StoreChange{{ID: renewed[0].ID, Data: "given up"}}})
	reply = claim(bob, -time.Hour)
	if len(reply.Tasks) != 1 || reply.Tasks[0].Data != "given up" || reply.Tasks[0].OwnerID != bob {
		t.Fatalf("claim: %+v", reply)
	}
	// A negative duration counts as 0, so the record is still available.
	if reply = claim(alice, time.Hour); len(reply.Tasks) != 1 {
		t.Errorf("claim after a claim for 0: %+v", reply)
	}
	for _, x := range s.storeGroup(ctx, t, group, 0, true) {
		s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: x.OwnerID, Deletes: []uint64{x.ID}})
	}
}

func (s *suite) taskStoreRefused(ctx context.Context, t *testing.T) {
	long := strings.Repeat("x", api.MaxStoreGroup+1)
	add := []api.StoreAdd{{Group: "apitest.refused"}}
	ids := make([]uint64, api.MaxStoreParts+1)
	half := strings.Repeat("x", api.MaxStoreData/2+1)
	for name, c := range map[string]struct {
		r           api.StoreUpdateRequest
		code, field string
	}{
		"empty":         {api.StoreUpdateRequest{}, api.CodeBadRequest, ""},
		"only depends":  {api.StoreUpdateRequest{Depends: []uint64{1}}, api.CodeBadRequest, ""},
		"no group":      {api.StoreUpdateRequest{Adds: []api.StoreAdd{{Group: "a"}, {}}}, api.CodeInvalidField, "adds[1].group"},
		"long group":    {api.StoreUpdateRequest{Adds: []api.StoreAdd{{Group: long}}}, api.CodeInvalidField, "adds[0].group"},
		"control":       {api.StoreUpdateRequest{Adds: []api.StoreAdd{{Group: "a\n"}}}, api.CodeInvalidField, "adds[0].group"},
		"not UTF-8":     {api.StoreUpdateRequest{Adds: []api.StoreAdd{{Group: "a\xff"}}}, api.CodeInvalidField, "adds[0].group"},
		"data":          {api.StoreUpdateRequest{Updates: []api.StoreChange{{ID: 1, Data: "\xff"}}}, api.CodeInvalidField, "updates[0].data"},
		"no ID":         {api.StoreUpdateRequest{Updates: []api.StoreChange{{Data: "x"}}}, api.CodeInvalidField, "updates[0].id"},
		"updated twice": {api.StoreUpdateRequest{Updates: []api.StoreChange{{ID: 1}, {ID: 2}, {ID: 1}}}, api.CodeInvalidField, "updates[2].id"},
		"deleted twice": {api.StoreUpdateRequest{Deletes: []uint64{3, 3}}, api.CodeInvalidField, "deletes[1]"},
		"both":          {api.StoreUpdateRequest{Updates: []api.StoreChange{{ID: 1}}, Deletes: []uint64{2, 1}}, api.CodeInvalidField, "deletes[1]"},
		"parts":         {api.StoreUpdateRequest{Adds: add, Depends: ids[1:]}, api.CodeTooLarge, "update"},
		"large": {api.StoreUpdateRequest{Adds: []api.StoreAdd{{Group: "a", Data: half}}, Updates: []api.StoreChange{{ID: 1, Data: half}}},
			api.CodeTooLarge, "update"},
		"namespace": {api.StoreUpdateRequest{Namespace: "no such", Adds: add}, api.CodeInvalidField, "namespace"},
		"nowhere":   {api.StoreUpdateRequest{Namespace: "nowhere", Adds: add}, "namespace_not_found", "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.ClientID = alice
			_, err := s.StoreUpdate(ctx, c.r)
			wantError(t, err, c.code, c.field)
		})
	}
	for name, c := range map[string]struct {
		r           api.StoreClaimRequest
		code, field string
	}{
		"no group":    {api.StoreClaimRequest{}, api.CodeInvalidField, "group"},
		"long group":  {api.StoreClaimRequest{Group: long}, api.CodeInvalidField, "group"},
		"too many":    {api.StoreClaimRequest{Group: "a", Depends: ids}, api.CodeTooLarge, "depends"},
		"nowhere":     {api.StoreClaimRequest{Group: "a", Namespace: "nowhere"}, "namespace_not_found", "namespace"},
		"claim space": {api.StoreClaimRequest{Group: "a", Namespace: "no such"}, api.CodeInvalidField, "namespace"},
	} {
		t.Run("claim "+name, func(t *testing.T) {
			_, err := s.StoreClaim(ctx, c.r)
			wantError(t, err, c.code, c.field)
		})
	}
	_, err := s.StoreGroups(ctx, "nowhere")
	wantError(t, err, "namespace_not_found", "namespace")
	_, err = s.StoreGroup(ctx, "", "", 0, false)
	wantError(t, err, api.CodeInvalidField, "group")
	_, err = s.StoreGroup(ctx, "nowhere", "a", 0, false)
	wantError(t, err, "namespace_not_found", "namespace")
	_, err = s.StoreTasks(ctx, "nowhere", []uint64{1})
	wantError(t, err, "namespace_not_found", "namespace")
	_, err = s.StoreTasks(ctx, "", ids)
	wantError(t, err, api.CodeTooLarge, "ids")
	if got := s.storeGroup(ctx, t, "apitest.refused", 0, true); len(got) != 0 {
		t.Errorf("something was added: %+v", got)
	}
	s.taskStoreLargest(ctx, t)
}

// taskStoreLargest: the largest update that is allowed goes through.
func (s *suite) taskStoreLargest(ctx context.Context, t *testing.T) {
	t.Helper()
	biggest := strings.Repeat("x", api.MaxStoreBytes-256-32-1)
	got := s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Adds: []api.StoreAdd{{Group: "a", Data: biggest}}})
	if got[0].Data != biggest {
		t.Errorf("%d bytes of data", len(got[0].Data))
	}
	many := make([]api.StoreAdd, api.MaxStoreParts-1)
	for i := range many {
		many[i] = api.StoreAdd{Group: "apitest.many", Data: "data"}
	}
	got = s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Adds: many, Deletes: []uint64{got[0].ID}})
	gone := make([]uint64, len(got))
	for i := range got {
		gone[i] = got[i].ID
	}
	s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Deletes: gone})
}

// taskStoreContention: many clients claim at once, and each record goes to one.
func (s *suite) taskStoreContention(ctx context.Context, t *testing.T) {
	const group, records, clients = "apitest.contention", 60, 8
	adds := make([]api.StoreAdd, records)
	for i := range adds {
		adds[i] = api.StoreAdd{Group: group, Data: fmt.Sprint(i)}
	}
	s.storeUpdate(ctx, t, api.StoreUpdateRequest{ClientID: alice, Adds: adds})
	var mu sync.Mutex
	taken := map[string]int{}
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for {
				reply, err := s.StoreClaim(ctx, api.StoreClaimRequest{ClientID: int64(client), Group: group, Duration: time.Hour})
				if err != nil || reply.Errors != nil {
					t.Errorf("claim: %v %+v", err, reply)
					return
				}
				if len(reply.Tasks) == 0 {
					return
				}
				x := reply.Tasks[0]
				mu.Lock()
				taken[x.Data]++
				mu.Unlock()
				done, err := s.StoreUpdate(ctx, api.StoreUpdateRequest{ClientID: int64(client), Deletes: []uint64{x.ID}})
				if err != nil || done.Errors != nil {
					t.Errorf("delete: %v %+v", err, done)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, n := range taken {
		if n != 1 {
			t.Errorf("a record was claimed %d times", n)
		}
	}
	if len(taken) != records {
		t.Errorf("%d of %d records were claimed", len(taken), records)
	}
}

package clustertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// longText makes long data that nothing else has.
func longText(name string, n int) string {
	return strings.ToValidUTF8((name + strings.Repeat("·x", n))[:n], "")
}

// storeUpdate makes an update that must happen.
func storeUpdate(t *testing.T, c *Cluster, i int, r api.StoreUpdateRequest) []*api.StoreTask {
	t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	reply, err := c.Node(i).StoreUpdate(ctx, r)
	if err != nil || reply.Errors != nil {
		t.Fatalf("update: %+v, %v", reply, err)
	}
	return reply.Tasks
}

// TestLargeStoreData: a record's data may be as large as a body may be, and much of it may come at once (SPEC X2). It
// reads the same on every node, moves with its record, counts in full, and goes with the last record that has it.
func TestLargeStoreData(t *testing.T) {
	Run(t, 3, maintained(eager), func(t *testing.T, c *Cluster) {
		const many, each = 400, 3000
		large, half := longText("large", 6<<20), longText("half", 1<<20)
		made := storeUpdate(t, c, 0, api.StoreUpdateRequest{ClientID: 1, Adds: []api.StoreAdd{{Group: "g", Data: large}, {Group: "g", Data: "small"}, {Group: "g", Data: half}}})
		some := api.StoreUpdateRequest{ClientID: 1, Updates: []api.StoreChange{{ID: made[2].ID, Data: half + "!"}}}
		for i := range many { // none is large, but together they do not fit into a log entry
			some.Adds = append(some.Adds, api.StoreAdd{Group: "many", Data: longText(fmt.Sprint(i), each)})
		}
		added := storeUpdate(t, c, 1, some)
		want := map[uint64]string{made[0].ID: large, made[1].ID: "small", added[many].ID: half + "!"}
		for i := range many {
			want[added[i].ID] = some.Adds[i].Data
			if added[i].Data != some.Adds[i].Data {
				t.Fatalf("the answer has %d bytes for %d", len(added[i].Data), i)
			}
		}
		c.Agree()
		for i := range 3 {
			seen := 0
			for _, group := range []string{"g", "many"} {
				ctx, cancel := c.Context(patience)
				got, err := api.CollectStore(c.Node(i).StoreGroup(ctx, "", group, 0, true))
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range got {
					if seen++; x.Data != want[x.ID] {
						t.Errorf("node %d: record %d has %d bytes, want %d", i, x.ID, len(x.Data), len(want[x.ID]))
					}
				}
			}
			if seen != len(want) {
				t.Errorf("node %d: %d records, want %d", i, seen, len(want))
			}
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		claimed, err := c.Node(2).StoreClaim(ctx, api.StoreClaimRequest{ClientID: 2, Group: "g", Duration: time.Hour})
		if err != nil || len(claimed.Tasks) != 1 || claimed.Tasks[0].OwnerID != 2 {
			t.Fatalf("claim: %+v, %v", claimed, err)
		}
		if x := claimed.Tasks[0]; x.Data != large && x.Data != "small" && x.Data != half+"!" {
			t.Errorf("claimed %d bytes", len(x.Data))
		}
		used := int64(0)
		for _, data := range want {
			used += int64(len(data))
		}
		if ns, err := c.Node(0).Namespace(ctx, "default"); err != nil || ns.Usage.Bytes != used {
			t.Errorf("usage %+v, want %d bytes, %v", ns, used, err)
		}

		blobs := func() (n int) {
			c.Node(c.Leader()).Store().Local(func(m *task.Machine) {
				for range m.Blobs("") {
					n++
				}
			})
			return n
		}
		c.Sleep(time.Minute)
		c.maintain(0, api.MaintenanceRequest{})
		before := blobs() // the data "half" is gone, as no record has it
		if before < 3 || before > many {
			t.Errorf("%d blobs of %d records", before, len(want))
		}
		all := api.StoreUpdateRequest{ClientID: 1}
		for i := range many {
			all.Deletes = append(all.Deletes, added[i].ID)
		}
		storeUpdate(t, c, 0, all)
		c.Sleep(time.Minute)
		c.maintain(1, api.MaintenanceRequest{})
		if after := blobs(); after != 2 {
			t.Errorf("%d blobs are left of %d, want those of two records", after, before)
		}
		if got, err := api.CollectStore(c.Node(0).StoreGroup(ctx, "", "g", 0, true)); err != nil || len(got) != 3 || len(got[0].Data)+len(got[1].Data)+len(got[2].Data) != len(large)+len(half)+1+len("small") {
			t.Errorf("%d records, %v", len(got), err)
		}
	})
}

// TestStoreListsAreBounded: a list of more than 64 MiB is refused. The refusal names the parameter that makes the list
// shorter.
func TestStoreListsAreBounded(t *testing.T) {
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		data := strings.Repeat("x", 7<<20)
		var ids []uint64
		for range 10 { // the same bytes make one blob
			ids = append(ids, storeUpdate(t, c, 0, api.StoreUpdateRequest{ClientID: 1, Adds: []api.StoreAdd{{Group: "g", Data: data}}})[0].ID)
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		refused := func(field string, err error) {
			t.Helper()
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeTooLarge || e.Field != field || e.Limit != api.MaxStoreList {
				t.Errorf("%s: %v", field, err)
			}
		}
		_, err := c.Node(1).StoreGroup(ctx, "", "g", 0, true)
		refused("limit", err)
		_, err = c.Node(1).StoreTasks(ctx, "", ids)
		refused("ids", err)
		for limit, most := range map[int]int{3: 3, 9: 9} {
			if got, err := api.CollectStore(c.Node(1).StoreGroup(ctx, "", "g", limit, true)); err != nil || len(got) != most || len(got[most-1].Data) != len(data) {
				t.Errorf("limit %d: %d records, %v", limit, len(got), err)
			}
		}
	})
}

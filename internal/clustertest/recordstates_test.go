package clustertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

// recordStates are the states of a record of the TaskStore, with what client 1 can do with it (SPEC X2). The answer to
// an update or a delete is done, or the list with the ID. depend is the answer to an update that depends on the record
// and adds another.
var recordStates = []struct {
	name string
	make func(r *recordCaller) uint64

	update, remove, depend, claim string
	listed, listedOwned, there    bool
}{
	{"available", func(r *recordCaller) uint64 { return r.add(2, 0) }, "done", "done", "done", "it", true, true, true},
	{"added by 1 for later", func(r *recordCaller) uint64 { return r.add(1, -60_000) }, "done", "done", "done", "none", false, true, true},
	{"added by 2 for later", func(r *recordCaller) uint64 { return r.add(2, -60_000) }, "owned", "owned", "done", "none", false, true, true},
	{"claimed by 1", func(r *recordCaller) uint64 { r.add(2, 0); return r.claim(1) }, "done", "done", "done", "none", false, true, true},
	{"claimed by 2", func(r *recordCaller) uint64 { r.add(1, 0); return r.claim(2) }, "owned", "owned", "done", "none", false, true, true},
	{"claimed by 1, run out", func(r *recordCaller) uint64 { r.add(2, 0); return r.later(r.claim(1)) }, "done", "done", "done", "it", true, true, true},
	{"claimed by 2, run out", func(r *recordCaller) uint64 { r.add(1, 0); return r.later(r.claim(2)) }, "done", "done", "done", "it", true, true, true},
	{"claimed by 2, renewed", func(r *recordCaller) uint64 {
		r.add(1, 0)
		return r.change(2, r.claim(2), -120_000)
	}, "owned", "owned", "done", "none", false, true, true},
	{"claimed by 2, given up", func(r *recordCaller) uint64 { r.add(1, 0); return r.change(2, r.claim(2), 0) }, "done", "done", "done", "it", true, true, true},
	{"claimed by 2, by its former ID", func(r *recordCaller) uint64 { id := r.add(1, 0); r.claim(2); return id }, "changes", "deletes", "depends", "none", false, false, false},
	{"claimed by 1, by its former ID", func(r *recordCaller) uint64 { id := r.add(1, 0); r.claim(1); return id }, "changes", "deletes", "depends", "none", false, false, false},
	{"deleted", func(r *recordCaller) uint64 {
		id := r.add(1, 0)
		r.must(fmt.Sprintf(`{"clientid":1,"deletes":[%d]}`, id))
		return id
	}, "changes", "deletes", "depends", "none", false, false, false},
	{"never there", func(*recordCaller) uint64 { return 1 << 60 }, "changes", "deletes", "depends", "none", false, false, false},
	{"of another namespace", func(r *recordCaller) uint64 {
		return r.post("/taskstore/update?namespace=other", `{"clientid":1,"adds":[{"group":"`+r.group+`"}]}`).Tasks[0].ID
	}, "changes", "deletes", "depends", "none", false, false, false},
	{"rev of a task", func(r *recordCaller) uint64 {
		return r.s.c.SubmitRequest(0, api.SubmitRequest{Behavior: "ext"}).Task.Rev
	}, "changes", "deletes", "depends", "none", false, false, false},
}

// recordCaller asks a real node about the records of one group.
type recordCaller struct {
	t     *testing.T
	s     *site
	group string
}

type recordReply struct {
	Tasks  []api.StoreTask
	Errors []string
	Error  map[string][]uint64
}

func (r *recordCaller) post(path, body string) (reply recordReply) {
	r.t.Helper()
	w := r.s.do("POST", path, "", strings.NewReader(body), int64(len(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK || (len(reply.Errors) > 0) != (len(reply.Error) > 0) {
		r.t.Fatalf("%s %s: %d %s", path, body, w.Code, w.Body)
	}
	return reply
}

func (r *recordCaller) must(update string) []api.StoreTask {
	r.t.Helper()
	reply := r.post("/taskstore/update", update)
	if reply.Errors != nil {
		r.t.Fatalf("%s: %v", update, reply.Errors)
	}
	return reply.Tasks
}

func (r *recordCaller) add(client int, timespec int64) uint64 {
	return r.must(fmt.Sprintf(`{"clientid":%d,"adds":[{"group":%q,"timespec":%d,"id":77,"ownerid":99}]}`, client, r.group, timespec))[0].ID
}

func (r *recordCaller) change(client int, id uint64, timespec int64) uint64 {
	return r.must(fmt.Sprintf(`{"clientid":%d,"updates":[{"id":%d,"timespec":%d}]}`, client, id, timespec))[0].ID
}

func (r *recordCaller) claim(client int) uint64 {
	return r.post("/taskstore/claim", fmt.Sprintf(`{"clientid":%d,"group":%q,"duration":60000}`, client, r.group)).Tasks[0].ID
}

// later lets a claim run out.
func (r *recordCaller) later(id uint64) uint64 {
	r.s.c.Sleep(61 * time.Second)
	return id
}

// said puts an answer into a word: the only list with the ID.
func (r *recordCaller) said(reply recordReply, id uint64) string {
	if reply.Errors == nil {
		return "done"
	}
	var in []string
	for list, ids := range reply.Error {
		switch {
		case slices.Equal(ids, []uint64{id}):
			in = append(in, list)
		case slices.Equal(ids, []uint64{id, id}):
			in = append(in, list+" twice")
		case len(ids) > 0:
			in = append(in, fmt.Sprint(list, ids))
		}
	}
	return strings.Join(in, " ")
}

func (r *recordCaller) lists(path string, id uint64) bool {
	w := r.s.do("GET", path, "", http.NoBody, 0)
	var all []*api.StoreTask
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return slices.ContainsFunc(all, func(x *api.StoreTask) bool { return x != nil && x.ID == id })
}

// TestRecordStates does every operation of the TaskStore on a record in every state over HTTP. A refusal refuses
// everything: the add in the same request does not happen.
func TestRecordStates(t *testing.T) {
	Run(t, 1, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		s := &site{c: c, handler: server.New(c.Node(0), server.Config{})}
		putExternal(t, c, 0, "ext", `{"kind":"external"}`)
		c.space("other")
		groups := 0
		fresh := func() *recordCaller {
			groups++
			return &recordCaller{t, s, fmt.Sprintf("group/%d", groups)}
		}
		for _, st := range recordStates {
			check := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s, %s: %s, want %s", st.name, what, got, want)
				}
			}
			for what, x := range map[string]struct{ parts, want string }{
				"update": {`"updates":[{"id":%d}]`, st.update}, "renew": {`"updates":[{"id":%d,"timespec":-60000}]`, st.update},
				"delete": {`"deletes":[%d]`, st.remove}, "depend": {`"depends":[%d]`, st.depend},
				"depend twice": {`"depends":[%[1]d,%[1]d]`, strings.Replace(st.depend, "depends", "depends twice", 1)},
			} {
				r := fresh()
				id := st.make(r)
				before := s.send("GET", "/taskstore/groups", nil, http.Header{}).Body.String()
				reply := r.post("/taskstore/update", fmt.Sprintf(`{"clientid":1,"adds":[{"group":%q}],%s}`, "with/"+r.group, fmt.Sprintf(x.parts, id)))
				added := s.send("GET", "/taskstore/groups", nil, http.Header{}).Body.String() != before
				if added != (reply.Errors == nil) {
					t.Errorf("%s, %s: %v, and added is %v", st.name, what, reply.Errors, added)
				}
				check(what, r.said(reply, id), x.want)
			}
			r := fresh()
			id := st.make(r)
			check("listed", fmt.Sprint(r.lists("/taskstore/group/"+r.group, id)), fmt.Sprint(st.listed))
			check("listed with owned", fmt.Sprint(r.lists("/taskstore/group/"+r.group+"?owned=1", id)), fmt.Sprint(st.listedOwned))
			check("by ID", fmt.Sprint(r.lists(fmt.Sprintf("/taskstore/tasks/%d", id), id)), fmt.Sprint(st.there))
			claimed := "none"
			if reply := r.post("/taskstore/claim", fmt.Sprintf(`{"clientid":1,"group":%q,"duration":1000}`, r.group)); len(reply.Tasks) > 0 {
				claimed = "it"
			}
			check("claim", claimed, st.claim)
			if st.claim == "it" && r.lists(fmt.Sprintf("/taskstore/tasks/%d", id), id) {
				t.Errorf("%s: its former ID is still there after a claim", st.name)
			}
		}
	})
}

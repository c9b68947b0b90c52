package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/server"
)

// storeServer is a handler with two records of alice in group map: record 1 is available, record 2 is owned.
func storeServer(t *testing.T) (s *site, ids [2]uint64) {
	t.Helper()
	s = newServer(t, server.Config{})
	tasks := s.update(`{"clientid":7,"adds":[{"group":"map","data":"a","timespec":1},{"group":"map","data":"b","timespec":-3600000}]}`)
	return s, [2]uint64{tasks[0].ID, tasks[1].ID}
}

// update posts an update that must succeed.
func (s *site) update(body string) []api.StoreTask {
	s.t.Helper()
	var reply struct {
		Tasks  []api.StoreTask
		Errors []string
	}
	if a := s.do("POST", "/taskstore/update", body); a.status != 200 || json.Unmarshal([]byte(a.body), &reply) != nil || reply.Errors != nil {
		s.t.Fatalf("%s: %d %s", body, a.status, a.body)
	}
	return reply.Tasks
}

// expect checks the status and the body of an answer. want is a format, whose verbs take IDs.
func (a answer) expect(t *testing.T, status int, format string, args ...any) {
	t.Helper()
	if want := fmt.Sprintf(format, args...) + "\n"; a.status != status || a.body != want {
		t.Errorf("%d %swant %d %s", a.status, a.body, status, want)
	}
	if got := a.header.Get("Content-Type"); status == 200 && got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
}

// TestStoreReads shows the wire form of every read of SPEC X2.
func TestStoreReads(t *testing.T) {
	t.Parallel()
	s, ids := storeServer(t)
	a := fmt.Sprintf(`{"id":%d,"group":"map","data":"a","timespec":1,"duration":1,"ownerid":7}`, ids[0])
	b := strings.TrimSpace(s.do("GET", fmt.Sprintf("/taskstore/task/%d", ids[1]), "").body)
	if !strings.HasPrefix(b, fmt.Sprintf(`{"id":%d,"group":"map","data":"b","timespec":1`, ids[1])) {
		t.Fatal(b)
	}
	for path, want := range map[string]string{
		"groups":                        `["map"]`,
		"group":                         `["map"]`,
		"groups?namespace=_system":      `[]`,
		fmt.Sprintf("task/%d", ids[0]):  a,
		fmt.Sprintf("tasks/%d", ids[0]): `[` + a + `]`,
		fmt.Sprintf("tasks/%d,99,%d", ids[1], ids[0]): `[` + b + `,null,` + a + `]`,
		"tasks/":                       `[]`,
		"tasks/0,18446744073709551615": `[null,null]`,
		"group/map":                    `[` + a + `]`,
		"group/map?owned=0":            `[` + a + `]`,
		"group/map?owned=no":           `[` + a + `]`,
		"group/map?owned=false":        `[` + a + `]`,
		"group/map?owned=1":            `[` + a + `,` + b + `]`,
		"group/map?owned=yes":          `[` + a + `,` + b + `]`,
		"group/map?owned=true":         `[` + a + `,` + b + `]`,
		"group/map?owned=True":         `[` + a + `,` + b + `]`,
		"group/map?owned=1&limit=1":    `[` + a + `]`,
		"group/map?owned=1&limit=2":    `[` + a + `,` + b + `]`,
		"group/map?owned=1&limit=0":    `[` + a + `,` + b + `]`,
		"group/map?owned=&limit=":      `[` + a + `]`,
		"group/none?owned=1":           `[]`,
	} {
		s.do("GET", "/taskstore/"+path, "").expect(t, 200, "%s", want)
	}
	if a := s.do("GET", "/taskstore/groups", ""); a.header.Get("Taskrt-Index") == "" {
		t.Error("no index")
	}
}

// TestStoreGroupNames: the name of a group is the rest of the path, as it was sent.
func TestStoreGroupNames(t *testing.T) {
	t.Parallel()
	s, _ := storeServer(t)
	for name, path := range map[string]string{
		"a/b": "a/b", "a//b": "a//b", "/": "/", "a/": "a/", ".": ".", "../x": "../x", "%": "%25", "a b+c": "a%20b+c", "ü": "%C3%BC",
		"x/y": "x%2Fy", "q?": "q%3F", "groups": "groups", "a\\b": "a%5Cb",
	} {
		body, _ := json.Marshal(map[string]any{"clientid": 1, "adds": []any{map[string]any{"group": name, "data": path}}})
		s.update(string(body))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+"/taskstore/group/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []api.StoreTask
		if a := s.send(req); a.status != 200 || json.Unmarshal([]byte(a.body), &got) != nil || len(got) != 1 || got[0].Group != name || got[0].Data != path {
			t.Errorf("group %q at %s: %d %s", name, path, a.status, a.body)
		}
	}
}

// TestStoreUpdateWire shows the wire form of updates.
func TestStoreUpdateWire(t *testing.T) {
	t.Parallel()
	s, ids := storeServer(t)
	now := time.Now().UnixMilli()
	added := s.update(`{"clientid":0,"adds":[{"group":"g"},{"group":"g","timespec":-60000},{"group":"g","duration":-60000},
		{"group":"g","timespec":5,"duration":9},{"group":"g","duration":9},{"group":"g","timespec":0,"duration":9}]}`)
	for i, at := range []int64{now, now + 60_000, now + 60_000, 5, 9, now} {
		if got := added[i]; got.Timespec != got.Duration || got.Timespec < at || got.Timespec > at+60_000 || at < 10 && got.Timespec != at || got.OwnerID != 0 {
			t.Errorf("add %d: %+v, want available at %d", i, got, at)
		}
	}
	// The original client and others send null for lists, and fields of answers.
	changed := s.update(fmt.Sprintf(`{"clientid":7,"adds":null,"updates":[{"id":%d,"group":"ignored","data":"x","duration":3,"ownerid":99}],
		"deletes":null,"depends":[%d],"more":{"deep":[1]}}`, ids[0], ids[1]))
	if len(changed) != 1 || changed[0].Group != "map" || changed[0].Data != "x" || changed[0].Timespec != 3 || changed[0].OwnerID != 7 {
		t.Errorf("changed %+v", changed)
	}
	s.do("POST", "/taskstore/update", fmt.Sprintf(`{"clientid":7.0,"deletes":[%d.0e0]}`, changed[0].ID)).expect(t, 200, `{"tasks":[]}`)
	s.do("POST", "/taskstore/update", fmt.Sprintf(`{"clientid":8,"updates":[{"id":%d},{"id":%d}],"deletes":[98],"depends":[97,%d]}`, ids[0], ids[1], ids[1])).expect(t, 200,
		`{"errors":["task %d is to be updated, but is not there","task 98 is to be deleted, but is not there","task 97 is depended on, but is not there","task %d is owned by another client"],`+
			`"error":{"changes":[%d],"deletes":[98],"depends":[97],"owned":[%d]}}`, ids[0], ids[1], ids[0], ids[1])
}

// TestStoreClaimWire shows the wire form of claims.
func TestStoreClaimWire(t *testing.T) {
	t.Parallel()
	s, ids := storeServer(t)
	s.do("POST", "/taskstore/claim", `{"clientid":3,"group":"none","duration":1,"depends":null}`).expect(t, 200, `{"tasks":[]}`)
	s.do("POST", "/taskstore/claim", `{"clientid":3,"group":"none","depends":[997,998]}`).expect(t, 200,
		`{"errors":["task 997 is depended on, but is not there","task 998 is depended on, but is not there"],"error":{"changes":[],"deletes":[],"depends":[997,998],"owned":[]}}`)
	a := s.do("POST", "/taskstore/claim", fmt.Sprintf(`{"clientid":3,"group":"map","duration":60000,"depends":[%d]}`, ids[0]))
	var reply struct{ Tasks []api.StoreTask }
	if err := json.Unmarshal([]byte(a.body), &reply); err != nil || len(reply.Tasks) != 1 || reply.Tasks[0].OwnerID != 3 || reply.Tasks[0].Data != "a" ||
		reply.Tasks[0].ID <= ids[1] || reply.Tasks[0].Timespec < time.Now().UnixMilli()+1 {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.do("POST", "/taskstore/claim", `{"clientid":3,"group":"map","duration":-5}`).expect(t, 200, `{"tasks":[]}`)
}

// TestStoreContentType: existing clients send no Content-Type, or whatever their library sends.
func TestStoreContentType(t *testing.T) {
	t.Parallel()
	s, _ := storeServer(t)
	for _, contentType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", "nonsense"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/taskstore/claim", strings.NewReader(`{"clientid":1,"group":"none"}`))
		if err != nil {
			t.Fatal(err)
		}
		if contentType != "" {
			req.Header.Set("Content-Type", contentType)
		}
		s.send(req).expect(t, 200, `{"tasks":[]}`)
	}
	// But pages of other sites must not get through (SPEC C5).
	a := s.do("POST", "/taskstore/claim", `{"clientid":1,"group":"map"}`, "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain")
	if a.status != 403 || a.problem.Code != api.CodeCrossOrigin {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = s.do("POST", "/taskstore/update", `{"clientid":1,"adds":[{"group":"x"}]}`, "Origin", "https://example.com")
	if a.status != 403 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestStoreRefused: every error has a status of its own, errors in the form that existing clients know, and our problem.
func TestStoreRefused(t *testing.T) {
	t.Parallel()
	s, ids := storeServer(t)
	many := strings.Repeat("1,", api.MaxStoreParts) + "1"
	for _, c := range []struct {
		method, path, body string
		status             int
		code, field        string
	}{
		{"GET", "task/99", "", 404, api.CodeTaskNotFound, ""},
		{"GET", "task/0", "", 404, api.CodeTaskNotFound, ""},
		{"GET", "task/", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task/1x", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task/-1", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task/+1", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task/1/2", "", 400, api.CodeInvalidField, "id"},
		{"GET", "task/18446744073709551616", "", 400, api.CodeInvalidField, "id"},
		{"GET", fmt.Sprintf("task/%d?namespace=_system", ids[0]), "", 404, api.CodeTaskNotFound, ""},
		{"GET", fmt.Sprintf("task/%d?namespace=nowhere", ids[0]), "", 404, "namespace_not_found", "namespace"},
		{"GET", "tasks/1,,2", "", 400, api.CodeInvalidField, "ids"},
		{"GET", "tasks/1,2,", "", 400, api.CodeInvalidField, "ids"},
		{"GET", "tasks/1,x", "", 400, api.CodeInvalidField, "ids"},
		{"GET", "tasks/" + many, "", 413, api.CodeTooLarge, "ids"},
		{"GET", "group/", "", 400, api.CodeInvalidField, "group"},
		{"GET", "group/a%0Ab", "", 400, api.CodeInvalidField, "group"},
		{"GET", "group/%FF", "", 400, api.CodeInvalidField, "group"},
		{"GET", "group/" + strings.Repeat("x", api.MaxStoreGroup+1), "", 400, api.CodeInvalidField, "group"},
		{"GET", "group/map?limit=x", "", 400, api.CodeInvalidField, "limit"},
		{"GET", "group/map?limit=1.5", "", 400, api.CodeInvalidField, "limit"},
		{"GET", "group/map?owned=2", "", 400, api.CodeInvalidField, "owned"},
		{"GET", "group/map?other=2", "", 400, api.CodeUnknownField, "other"},
		{"GET", "groups/x", "", 404, api.CodeNotFound, ""},
		{"GET", "", "", 404, api.CodeNotFound, ""},
		{"GET", "other", "", 404, api.CodeNotFound, ""},
		{"GET", "update", "", 405, api.CodeMethodNotAllowed, ""},
		{"POST", "groups", `{}`, 405, api.CodeMethodNotAllowed, ""},
		{"POST", "update", "", 400, api.CodeInvalidJSON, ""},
		{"POST", "update", "{", 400, api.CodeInvalidJSON, ""},
		{"POST", "update", "[]", 400, api.CodeInvalidJSON, ""},
		{"POST", "update", "\"\xff\"", 400, api.CodeInvalidJSON, ""},
		{"POST", "update", `{"adds":[{"group":"a"}]}`, 400, api.CodeInvalidField, "clientid"},
		{"POST", "update", `{"clientid":null,"adds":[{"group":"a"}]}`, 400, api.CodeInvalidField, "clientid"},
		{"POST", "update", `{"clientid":"7","adds":[{"group":"a"}]}`, 400, api.CodeInvalidField, "clientid"},
		{"POST", "update", `{"clientid":1.5,"adds":[{"group":"a"}]}`, 400, api.CodeInvalidField, "clientid"},
		{"POST", "update", `{"clientid":7}`, 400, api.CodeBadRequest, ""},
		{"POST", "update", `{"clientid":7,"adds":[],"updates":null,"deletes":[]}`, 400, api.CodeBadRequest, ""},
		{"POST", "update", `{"clientid":7,"adds":[{"data":"x"}]}`, 400, api.CodeInvalidField, "adds[0].group"},
		{"POST", "update", `{"clientid":7,"adds":[{"group":7}]}`, 400, api.CodeInvalidField, "adds[0].group"},
		{"POST", "update", `{"clientid":7,"adds":[{"group":"a","data":"\ud800"}]}`, 400, api.CodeInvalidJSON, "adds[0].data"},
		{"POST", "update", `{"clientid":7,"clientid":8,"adds":[{"group":"a"}]}`, 400, api.CodeInvalidJSON, "clientid"},
		{"POST", "update", `{"clientid":7,"adds":[{"group":"a","Data":"x"}]}`, 400, api.CodeUnknownField, "adds[0].Data"},
		{"POST", "claim", `{"clientid":7,"Group":"a"}`, 400, api.CodeUnknownField, "Group"},
		{"POST", "update", `{"clientid":7,"adds":{"group":"a"}}`, 400, api.CodeInvalidField, "adds"},
		{"POST", "update", `{"clientid":7,"deletes":[-1]}`, 400, api.CodeInvalidField, "deletes"},
		{"POST", "update", `{"clientid":7,"updates":[{"data":"x"}]}`, 400, api.CodeInvalidField, "updates[0].id"},
		{"POST", "update", `{"clientid":7,"updates":[{"id":1},{"id":1}]}`, 400, api.CodeInvalidField, "updates[1].id"},
		{"POST", "update", `{"clientid":7,"updates":[{"id":1}],"deletes":[1]}`, 400, api.CodeInvalidField, "deletes[0]"},
		{"POST", "update", `{"clientid":7,"deletes":[` + many + `]}`, 413, api.CodeTooLarge, "deletes"},
		{"POST", "update", `{"clientid":7,"adds":[` + strings.Repeat(`{"group":"`+strings.Repeat("g", api.MaxStoreGroup)+`"},`, 2000) + `{"group":"a"}]}`, 413, api.CodeTooLarge, "update"},
		{"POST", "update", `{"clientid":7,"x":"` + strings.Repeat("x", api.MaxBody) + `"}`, 413, api.CodeTooLarge, ""},
		{"POST", "update?namespace=nowhere", `{"clientid":7,"adds":[{"group":"a"}]}`, 404, "namespace_not_found", "namespace"},
		{"POST", "claim", `{"group":"a"}`, 400, api.CodeInvalidField, "clientid"},
		{"POST", "claim", `{"clientid":7}`, 400, api.CodeInvalidField, "group"},
		{"POST", "claim", `{"clientid":7,"group":""}`, 400, api.CodeInvalidField, "group"},
		{"POST", "claim", `{"clientid":7,"group":"a","duration":9223372036854775807}`, 400, api.CodeInvalidField, "duration"},
		{"POST", "claim", `{"clientid":7,"group":"a","duration":"1s"}`, 400, api.CodeInvalidField, "duration"},
		{"POST", "claim", `{"clientid":7,"group":"a","depends":[` + many + `]}`, 413, api.CodeTooLarge, "depends"},
		{"POST", "claim/x", `{"clientid":7,"group":"a"}`, 404, api.CodeNotFound, ""},
	} {
		a := s.do(c.method, "/taskstore/"+c.path, c.body)
		var both struct{ Errors []string }
		if err := json.Unmarshal([]byte(a.body), &both); err != nil || len(both.Errors) != 1 || both.Errors[0] == "" {
			t.Errorf("%s %.60s %.60s: errors: %v %.300s", c.method, c.path, c.body, err, a.body)
		}
		if a.status != c.status || a.problem.Code != c.code || a.problem.Field != c.field {
			t.Errorf("%s %.60s %.60s: %d %.300s, want %d %s %s", c.method, c.path, c.body, a.status, a.body, c.status, c.code, c.field)
		}
	}
	s.do("GET", "/taskstore/groups", "").expect(t, 200, `["map"]`)
}

// TestStoreBesideTasks: the records are invisible to the task API, and the other way round.
func TestStoreBesideTasks(t *testing.T) {
	t.Parallel()
	s, ids := storeServer(t)
	if a := s.do("GET", fmt.Sprintf("/v1/tasks/task:%d", ids[0]), ""); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.do("GET", "/v1/tasks", ""); strings.Contains(a.body, "map") {
		t.Error(a.body)
	}
	if a := s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"map"}`); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.do("GET", "/taskstore/groups", "").expect(t, 200, `["map"]`)
}

// TestStoreBadKey: an Idempotency-Key is checked here as everywhere (SPEC H4).
func TestStoreBadKey(t *testing.T) {
	t.Parallel()
	s, _ := storeServer(t)
	a := s.do("POST", "/taskstore/update", `{"clientid":1,"adds":[{"group":"once"}]}`, api.KeyHeader, "bad key")
	if a.status != 400 || a.problem.Field != api.KeyHeader {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.do("GET", "/taskstore/group/once", "").expect(t, 200, `[]`)
}

// tornLists is a Service whose lists break off after so many records.
type tornLists struct {
	*apitest.Fake
	after int
}

func (b tornLists) StoreGroup(context.Context, string, string, int, bool) (api.StoreList, error) {
	return func(yield func(*api.StoreTask, error) bool) {
		for i := range b.after {
			if !yield(&api.StoreTask{ID: uint64(i + 1), Group: "g"}, nil) {
				return
			}
		}
		yield(nil, api.NewError(api.CodeNotReady, "the data of record 3 cannot be had"))
	}, nil
}

// TestStoreListBreaksOff: half a list does not look like a whole list. An error before the first record is a problem like any
// other.
func TestStoreListBreaksOff(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 2} {
		fake := apitest.NewFake()
		defer fake.Close()
		s := httptest.NewServer(server.New(tornLists{fake, after}, server.Config{Logger: slog.New(slog.DiscardHandler)}))
		defer s.Close()
		res, err := http.Get(s.URL + "/taskstore/group/g") //nolint:noctx // a test
		if err != nil {
			if after == 0 {
				t.Error(err)
			}
			continue
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch {
		case after == 0 && (err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "record 3")):
			t.Errorf("before its first record: %d %s, %v", res.StatusCode, body, err)
		case after > 0 && err == nil:
			t.Errorf("whole: %d %s", res.StatusCode, body)
		}
	}
}

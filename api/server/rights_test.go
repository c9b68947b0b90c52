package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task/access"
)

// rights is the table of routes a second time, written by hand from SPEC A5: by operationId, for what a role is needed, and one
// of which roles ("a+b": both). It knows nothing of the table that the handler goes by.
var rights = map[string]string{
	"healthz": "open", "readyz": "open",
	"openapi": "token", "getSelf": "token", "stream": "token", "listNamespaces": "token",

	"listTasks": "namespace read submit", "getTask": "namespace read submit", "taskLogs": "namespace read submit",
	"listFailures": "namespace read", "whyTask": "namespace read submit",
	"waitTasks": "namespace read submit", "events": "namespace read submit",
	"submit":     "namespace submit",
	"removeTask": "namespace operate submit", "cancelTask": "namespace operate submit",
	"retryTask": "namespace operate submit", "resubmitTask": "namespace operate submit",
	"txn":       "namespace submit work operate",
	"heartbeat": "namespace work", "finishTask": "namespace work", "snoozeTask": "namespace work", "finishMany": "namespace work",

	"startOperation": "namespace submit",
	"listOperations": "namespace read submit", "getOperation": "namespace read submit", "listPartitions": "namespace read submit",
	"removeOperation": "namespace operate submit", "cancelOperation": "namespace operate submit", "retryOperation": "namespace operate submit",

	"listModules": "namespace read submit work deploy operate", "getModule": "namespace read submit work deploy operate",
	"listBehaviors": "namespace read submit work deploy operate", "pushModule": "namespace deploy",
	"getBehavior": "behavior read submit work deploy operate", "listVersions": "behavior read submit work deploy operate",
	"behaviorStats": "behavior read work operate",
	"putBehavior":   "behavior deploy", "deleteBehavior": "behavior deploy", "activateVersion": "behavior deploy",
	"pauseBehavior": "behavior operate", "resumeBehavior": "behavior operate",
	"accept": "behavior work",

	"storeGroups": "whole read", "storeGroupsAlias": "whole read", "storeGroup": "whole read", "storeTask": "whole read", "storeTasks": "whole read",
	"storeUpdate": "whole submit+work", "storeClaim": "whole submit+work",

	"getNamespace":    "namespace read submit work deploy operate admin",
	"createNamespace": "somewhere admin", "updateNamespace": "whole admin",
	"activateNamespace": "whole admin", "deactivateNamespace": "whole admin", "purgeNamespace": "whole admin",
	"exportNamespace": "whole read", "importNamespace": "whole admin",

	"putBlob": "somewhere submit work", "getBlob": "somewhere read submit work", "getBlobInfo": "somewhere read submit work",

	"getCluster":  "everything read",
	"listMembers": "everything read", "listWorkers": "everything read", "metrics": "everything read",
	"getMaintenance": "everything read", "listMaintenanceRuns": "everything read", "getMaintenanceRun": "everything read",
	"drain": "everything operate", "startMaintenance": "everything operate",

	"listTokens": "somewhere admin", "createToken": "somewhere admin", "getToken": "somewhere admin", "revokeToken": "somewhere admin",
	"rotateToken": "somewhere admin", "disableRoot": "everything admin",

	"signInPlaces": "open", "signIn": "open", "signOut": "token",
	"listIssuers": "everything admin", "putIssuer": "everything admin", "removeIssuer": "everything admin",
	"audit": "everything admin",

	"cancelTasks": "namespace submit operate", "retryTasks": "namespace submit operate", "resubmitTasks": "namespace submit operate", "removeTasks": "namespace submit operate",
	"listJobs": "token", "getJob": "token", "cancelJob": "token",

	"approveMember": "everything admin", "demoteMember": "everything admin", "removeMember": "everything admin",
	"transferLeadership": "everything admin",
	"saveSnapshot":       "everything admin", "listHolds": "everything read", "beginBackup": "everything admin",
}

// byName is a Gate that takes names for tokens.
type byName map[string]*auth.Principal

func (g byName) Enter(authorization, _ string) (*auth.Principal, error) {
	if p := g[authorization]; p != nil {
		return p, nil
	}
	return nil, auth.Unauthenticated()
}

func (g byName) Guess(string) error { return nil }

// absent is a Service that answers nothing: a request that gets as far as to it has passed the gate.
type absent struct{ api.Service }

// holders are whom the test asks for: what they may do it for, and of which namespace and behavior the request is.
var holders = []struct {
	name       string
	grant      access.Grant // its roles are those under test
	namespace  string
	behavior   string
	fits       string // of a rule's scopes, those for which the grant is enough
	strangerTo bool   // the grant gives nothing at all in the namespace
}{
	{"everything", access.Grant{Namespaces: []string{"*"}, Behaviors: []string{"*"}}, "own", "mine", "namespace behavior whole somewhere everything", false},
	{"a namespace", access.Grant{Namespaces: []string{"own"}, Behaviors: []string{"*"}}, "own", "mine", "namespace behavior whole somewhere", false},
	{"namespaces by pattern", access.Grant{Namespaces: []string{"ow*"}, Behaviors: []string{"*"}}, "own", "mine", "namespace behavior whole somewhere", false},
	{"a behavior", access.Grant{Namespaces: []string{"own"}, Behaviors: []string{"mine"}}, "own", "mine", "namespace behavior somewhere", false},
	{"another behavior", access.Grant{Namespaces: []string{"own"}, Behaviors: []string{"mine"}}, "own", "other", "namespace somewhere", false},
	{"a behavior everywhere", access.Grant{Namespaces: []string{"*"}, Behaviors: []string{"mine"}}, "own", "mine", "namespace behavior somewhere", false},
	{"another namespace", access.Grant{Namespaces: []string{"own"}, Behaviors: []string{"*"}}, "foreign", "mine", "somewhere", true},
	{"the default namespace", access.Grant{Namespaces: []string{"own"}, Behaviors: []string{"*"}}, "", "mine", "somewhere", true},
}

// TestRights walks every route × role × holder (SPEC A5): who may is let in, and who may not gets what the table by hand says.
func TestRights(t *testing.T) {
	gate := byName{}
	h := server.New(absent{}, server.Config{
		Logger: slog.New(slog.DiscardHandler), Gate: gate, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	})
	routes := documented(t, h, gate)
	if len(routes) != len(rights) {
		t.Errorf("the document has %d routes, the table by hand %d", len(routes), len(rights))
	}
	for id, at := range routes {
		rule, known := rights[id]
		if !known {
			t.Errorf("%s is not in the table by hand", id)
			continue
		}
		scope, list, _ := strings.Cut(rule, " ")
		for _, x := range holders {
			for _, roles := range [][]string{nil, {"read"}, {"submit"}, {"work"}, {"deploy"}, {"operate"}, {"admin"}, {"submit", "work"}, {"read", "deploy"}} {
				p := &auth.Principal{Name: "p", Grant: x.grant}
				p.Grant.Roles = 0
				for _, name := range roles {
					role, _ := access.Role(name)
					p.Grant.Roles |= role
				}
				gate["p"] = p
				got := ask(h, at, "p", x.namespace, x.behavior)
				want := "in"
				hasRole := slices.ContainsFunc(strings.Fields(list), func(one string) bool {
					both := strings.Split(one, "+")
					return !slices.ContainsFunc(both, func(role string) bool { return !slices.Contains(roles, role) })
				})
				inNamespace := scope == "namespace" || scope == "behavior" || scope == "whole"
				byBody := bodyNames[id] && x.namespace == ""
				switch {
				case scope == "open" || scope == "token":
				case byBody && hasRole: // the Service looks at the namespace
				case inNamespace && !byBody && (x.strangerTo || len(roles) == 0):
					want = "namespace_not_found"
				case !hasRole || !slices.Contains(strings.Fields(x.fits), scope):
					want = "forbidden"
				}
				if got != want {
					t.Errorf("%s, by a token with %v for %s: %s, not %s", id, roles, x.name, got, want)
				}
			}
		}
		want := "unauthenticated"
		if scope == "open" {
			want = "in"
		}
		if got := ask(h, at, "nobody", "own", "mine"); got != want {
			t.Errorf("%s without a token: %s", id, got)
		}
		gate["worker"] = &auth.Principal{Name: "worker", Members: true, Grant: access.Everything()}
		want = "forbidden"
		if scope == "open" || id == "getCluster" {
			want = "in"
		}
		if got := ask(h, at, "worker", "own", "mine"); got != want {
			t.Errorf("%s with a worker's token: %s", id, got)
		}
	}
}

// bodyNames are the routes whose body may name the namespace.
var bodyNames = map[string]bool{"submit": true, "startOperation": true, "txn": true, "finishMany": true, "waitTasks": true, "cancelTasks": true, "retryTasks": true, "resubmitTasks": true, "removeTasks": true}

// place is where a route is.
type place struct{ method, path string }

// documented returns the routes that the document has, by operationId.
func documented(t *testing.T, h http.Handler, gate byName) map[string]place {
	t.Helper()
	gate["reader"] = &auth.Principal{Name: "reader"}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", http.NoBody)
	r.Header.Set("Authorization", "reader")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var doc struct {
		Paths map[string]map[string]struct {
			ID       string `json:"operationId"`
			Needs    string `json:"description"`
			Security *[]any `json:"security"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]place{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			all[o.ID] = place{strings.ToUpper(method), path}
			if !strings.HasPrefix(o.Needs, "Needs ") || (o.Security != nil) != (rights[o.ID] == "open") {
				t.Errorf("%s: the document does not say what it needs: %q", o.ID, o.Needs)
			}
		}
	}
	return all
}

// ask asks for a route, and returns the code of the gate's refusal, or "in".
func ask(h http.Handler, at place, token, namespace, behavior string) string {
	path, query := at.path, "?namespace="+namespace
	if strings.HasPrefix(path, "/v1/namespaces") {
		if namespace == "" {
			namespace = "default"
		}
		path, query = strings.Replace(path, "{name}", namespace, 1), ""
	}
	if namespace == "" {
		query = ""
	}
	path = strings.NewReplacer("{name}", behavior, "{id}", "some-task", "{ids}", "1,2", "{group}", "g", "{digest}", strings.Repeat("a", 64), "{run}", "1").Replace(path)
	r := httptest.NewRequest(at.method, "http://localhost"+path+query, http.NoBody)
	r.Header.Set("Authorization", token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var problem api.Error
	_ = json.Unmarshal(w.Body.Bytes(), &problem) // an answer of another form is none of these
	switch problem.Code {
	case "forbidden", "namespace_not_found", "unauthenticated":
		return problem.Code
	}
	return "in"
}

// TestUnauthenticated: no token and a bad one get the same answer, byte by byte, and of a body nothing is read (SPEC A5, A9).
func TestUnauthenticated(t *testing.T) {
	h := server.New(absent{}, server.Config{Logger: slog.New(slog.DiscardHandler), Gate: byName{}})
	var answers []string
	for _, token := range []string{"", "Bearer trt_bad", "Basic dXNlcjpwYXNz"} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/tasks", unreadable{t})
		r.ContentLength = 100
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || w.Header().Get("Connection") != "close" {
			t.Errorf("%q: %d %v", token, w.Code, w.Header())
		}
		answers = append(answers, fmt.Sprint(w.Header(), w.Body))
	}
	if answers[0] != answers[1] || answers[0] != answers[2] || !strings.Contains(answers[0], `Bearer realm="taskrt"`) {
		t.Errorf("%q", answers)
	}
}

// unreadable is a body that nobody may read.
type unreadable struct{ t *testing.T }

func (b unreadable) Read([]byte) (int, error) {
	b.t.Error("the body of a request that is refused is read")
	return 0, http.ErrBodyReadAfterClose
}

// TestUnknownNamespaceBytes: a namespace in which one has no role, and one that does not exist, get the same answer (SPEC A5).
func TestUnknownNamespaceBytes(t *testing.T) {
	gate := byName{
		"ours": {Name: "ours", Grant: access.Grant{Roles: access.Read, Namespaces: []string{"own"}, Behaviors: []string{"*"}}},
		"any":  {Name: "any", Grant: access.Everything()},
	}
	h := server.New(empty{}, server.Config{Logger: slog.New(slog.DiscardHandler), Gate: gate})
	var answers []string
	for token := range gate {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/behaviors?namespace=elsewhere", http.NoBody)
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answers = append(answers, fmt.Sprint(w.Code, w.Header(), w.Body))
	}
	if answers[0] != answers[1] || !strings.HasPrefix(answers[0], "404") {
		t.Errorf("%q", answers)
	}
}

// empty is a Service without namespaces.
type empty struct{ absent }

func (empty) Behaviors(_ context.Context, namespace string) ([]api.Behavior, error) {
	return nil, spaces.Unknown(namespace)
}

// TestRefusalsAreTold: a request by whoever lacks a role is told of, with route and namespace, also where the answer is that the namespace is
// not there, and each part of a request. Other errors, and who has no token, are not (SPEC A8).
func TestRefusalsAreTold(t *testing.T) {
	reader := &auth.Principal{Number: 2, Grant: access.Grant{Roles: access.Read, Namespaces: []string{"own"}, Behaviors: []string{"*"}}}
	var told []string
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	h := server.New(partly{f}, server.Config{
		Logger: slog.New(slog.DiscardHandler), Gate: byName{"reader": reader}, Metrics: http.NotFoundHandler(),
		OnRefusal: func(x auth.Refusal) {
			told = append(told, fmt.Sprintf("%d %s %s in %q", x.Token, x.From, x.Route, x.Namespace))
		},
	})
	for _, c := range []struct{ token, method, path, body, want string }{
		{"reader", "GET", "/v1/tokens", "", `2 192.0.2.1:1234 GET /v1/tokens in ""`},
		{"reader", "DELETE", "/v1/behaviors/mail?namespace=own", "", `2 192.0.2.1:1234 DELETE /v1/behaviors/{name} in "own"`},
		{"reader", "GET", "/v1/tasks", "", `2 192.0.2.1:1234 GET /v1/tasks in "default"`},
		{"reader", "POST", "/v1/namespaces/other/purge", "", `2 192.0.2.1:1234 POST /v1/namespaces/{name}/purge in "other"`},
		{"reader", "GET", "/v1/tasks/some-task?namespace=own", "", `2 192.0.2.1:1234 GET /v1/tasks/{id} in "own"`}, // the Service refuses it
		{"reader", "GET", "/v1/namespaces/own", "", ""},
		{"reader", "GET", "/v1/tasks?namespace=own&limit=0", "", ""},
		{"reader", "GET", "/v1/tasks?namespace=a+b", "", ""},
		{"nobody", "GET", "/v1/tasks", "", ""},
	} {
		told = nil
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", c.token)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got := strings.Join(told, ", "); got != c.want {
			t.Errorf("%s %s by %s: %s", c.method, c.path, c.token, got)
		}
	}
	reader.Grant.Roles |= access.Submit
	told = nil
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/tasks?namespace=own", strings.NewReader(`{"tasks":[{"behavior":"mine"},{"behavior":"other"},{"behavior":"other"}]}`))
	r.Header.Set("Authorization", "reader")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if want := `2 192.0.2.1:1234 POST /v1/tasks in "own"`; w.Code != http.StatusOK || len(told) != 2 || told[0] != want || told[1] != want {
		t.Errorf("%d: %v", w.Code, told)
	}
}

// partly is a Service that refuses reads, and submits of a behavior.
type partly struct{ api.Service }

func (partly) Task(context.Context, string, string, api.GetOptions) (*api.Task, error) {
	return nil, auth.Forbidden(access.Read, "")
}

func (partly) SubmitBatch(_ context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	out := make([]api.SubmitResult, len(rs))
	for i := range rs {
		if out[i].Error = api.NewError(api.CodeBehaviorNotFound, "none"); rs[i].Behavior == "other" {
			out[i].Error = auth.Forbidden(access.Submit, "")
		}
	}
	return out, nil
}

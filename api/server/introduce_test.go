package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/task/access"
)

// TestStreamOfAPage: a page of any origin has a stream by a token that it offers, with that token's rights and no other's: not those of a cookie, nor
// those of a header. Without a token of its own it is refused, and so it is in a cluster that has no tokens (SPEC A6, H5).
func TestStreamOfAPage(t *testing.T) {
	gate := byName{}
	for _, name := range []string{"page", "person"} {
		p := &auth.Principal{Name: name, Grant: access.Grant{Namespaces: []string{name}, Behaviors: []string{"*"}}}
		p.Grant.Roles, _ = access.Role("read")
		gate["Bearer trt_"+name] = p
	}
	serve := func(g server.Gate) string {
		s := httptest.NewServer(server.New(&holding{}, server.Config{Logger: slog.New(slog.DiscardHandler), Gate: g}))
		t.Cleanup(s.Close)
		return s.URL
	}
	closed, open := serve(gate), serve(nil)
	const form, bearer = "taskrt.v1+json", stream.BearerSubprotocol
	for _, c := range []struct {
		name, url string
		offers    []string
		person    bool   // what came has the right of a person already: by a header, or a cookie that was taken for it
		code      string // of the refusal; "": there is a stream
		may       string // which namespace is read then
	}{
		{"a token", closed, []string{form, bearer + "trt_page"}, false, "", "page"},
		{"a token first", closed, []string{bearer + "trt_page", form}, false, "", "page"},
		{"a token beside a person", closed, []string{form, bearer + "trt_page"}, true, "", "page"},
		{"a wrong token", closed, []string{form, bearer + "trt_wrong"}, false, api.CodeUnauthenticated, ""},
		{"a wrong token beside a person", closed, []string{form, bearer + "trt_wrong"}, true, api.CodeUnauthenticated, ""},
		{"no token beside a person", closed, []string{form}, true, api.CodeCrossOrigin, ""},
		{"an empty token beside a person", closed, []string{form, bearer}, true, api.CodeCrossOrigin, ""},
		{"two tokens beside a person", closed, []string{form, bearer + "trt_page", bearer + "trt_wrong"}, true, api.CodeCrossOrigin, ""},
		{"nothing but a token", closed, []string{bearer + "trt_page"}, false, api.CodeBadRequest, ""},
		{"an open cluster", open, []string{form, bearer + "trt_page"}, false, api.CodeCrossOrigin, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{"Origin": {"http://page.example"}, "Sec-Fetch-Site": {"cross-site"}, "Cookie": {"taskrt-12345678=trt_person"}}
			if c.person {
				h.Set("Authorization", "Bearer trt_person")
			}
			code, chosen, may := dialPage(t, c.url, &websocket.DialOptions{HTTPHeader: h, Subprotocols: c.offers}, "page", "person")
			if code != c.code || may != c.may {
				t.Errorf("%q, and it reads %q: want %q and %q", code, may, c.code, c.may)
			}
			if c.code == "" && chosen != form {
				t.Errorf("the subprotocol is %q: a token must not come back", chosen)
			}
		})
	}
}

// dialPage begins a stream. It returns the code of the refusal, or the subprotocol and which of the namespaces is read over it.
func dialPage(t *testing.T, url string, options *websocket.DialOptions, namespaces ...string) (code, chosen, may string) {
	t.Helper()
	ws, res, err := websocket.Dial(t.Context(), url+stream.Path, options)
	if err != nil {
		if res == nil {
			t.Fatal(err)
		}
		var e api.Error
		_ = json.NewDecoder(res.Body).Decode(&e)
		return e.Code, "", ""
	}
	defer ws.CloseNow()
	for _, ns := range namespaces {
		q, _ := json.Marshal(stream.Requests{Requests: []stream.Request{{N: 1, Method: http.MethodGet, Path: "/v1/tasks/one?namespace=" + ns}}})
		if err := ws.Write(t.Context(), websocket.MessageText, q); err != nil {
			t.Fatal(err)
		}
		_, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got stream.Answers
		if err := json.Unmarshal(b, &got); err != nil || len(got.Answers) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		if got.Answers[0].Status == http.StatusOK {
			may += ns
		}
	}
	return "", ws.Subprotocol(), may
}

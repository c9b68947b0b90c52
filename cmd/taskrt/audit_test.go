package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
)

// recorded is an Audit of three records. Its streams break after each record.
type recorded struct {
	asked  []auth.AuditRequest
	broken int
}

var changes = []auth.AuditRecord{
	{Number: 4, Index: 9, At: api.TimeOf(1), Token: "ci", From: "10.0.0.1:5", Route: "PUT /v1/behaviors/{name}", Target: "lab/mail"},
	{Number: 5, Index: 9, At: api.TimeOf(2), Route: "enable-root"},
	{Number: 7, Index: 11, At: api.TimeOf(3), Token: "token:3", Route: "GET /v1/tasks", Target: "lab/", Code: "forbidden", Requests: 12},
}

func (r *recorded) Audit(_ context.Context, q auth.AuditRequest) (*auth.AuditReply, error) {
	r.asked = append(r.asked, q)
	return &auth.AuditReply{Records: changes, Cursor: auth.AuditCursor(7)}, nil
}

func (r *recorded) FollowAudit(_ context.Context, q auth.AuditRequest) (api.EventStream, error) {
	r.asked = append(r.asked, q)
	return &oneByOne{r, q.After, false}, nil
}

// oneByOne hands out the record behind a number, and breaks.
type oneByOne struct {
	from  *recorded
	after uint64
	over  bool
}

func (s *oneByOne) Next(ctx context.Context) (api.Event, error) {
	for _, x := range changes {
		if x.Number > s.after && !s.over {
			s.after, s.over = x.Number, true
			data, err := json.Marshal(x)
			return api.Event{Kind: auth.AuditEvent, Rev: x.Number, Data: data}, err
		}
	}
	if s.over {
		s.from.broken++
		return api.Event{}, errors.New("broken")
	}
	<-ctx.Done()
	return api.Event{}, ctx.Err()
}
func (s *oneByOne) Position() uint64 { return s.after }
func (s *oneByOne) Close()           {}

// TestAudit: who changed what, as a page and as a stream that goes on when it breaks (SPEC A8).
func TestAudit(t *testing.T) {
	r := &recorded{}
	s := httptest.NewServer(server.New(ready{}, server.Config{Audit: r, Metrics: http.NotFoundHandler()}))
	t.Cleanup(s.Close)
	do := func(line string) (code int, out, said string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), append(strings.Fields("taskrt audit "+line), "--server", s.URL), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	code, out, said := do("--limit 3 --token ci --route /v1/tasks --namespace lab --refused true --after 2")
	want := auth.AuditRequest{HasAfter: true, After: 2, Limit: 3, Token: "ci", Route: "/v1/tasks", Namespace: "lab", Refused: "true"}
	if code != exit.OK || len(r.asked) != 1 || !reflect.DeepEqual(r.asked[0], want) || !strings.Contains(said, "--cursor "+auth.AuditCursor(7)) {
		t.Errorf("%d, %s, asked %+v", code, said, r.asked)
	}
	for _, line := range []string{"(cluster secret)  enable-root", "lab/mail  done", "forbidden, 12 times", "10.0.0.1:5"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if code, _, _ := do("--refused false --cursor " + auth.AuditCursor(7)); code != exit.OK || r.asked[1].After != 7 || r.asked[1].Refused != "false" {
		t.Errorf("%d, %+v", code, r.asked[1])
	}
	for line, why := range map[string]string{"--refused maybe": "true or false", "--after -1": "after", "--cursor x": "cursor", "--namespace ../x": "namespace"} {
		if code, _, said := do(line); code == exit.OK || !strings.Contains(said, why) {
			t.Errorf("%s: %d, %s", line, code, said)
		}
	}
	if len(r.asked) != 2 {
		t.Errorf("asked %+v", r.asked[2:])
	}
	ctx, cancel := context.WithCancel(t.Context())
	lines, written := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"taskrt", "audit", "--follow", "-o", "json", "--after", "3", "--server", s.URL}, strings.NewReader(""), written, io.Discard)
	}()
	from := json.NewDecoder(lines)
	for i, x := range changes {
		var got auth.AuditRecord
		if err := from.Decode(&got); err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("record %d of the stream: %+v, %v", i, got, err)
		}
	}
	cancel()
	<-done
	if r.asked[2].After != 3 || r.asked[3].After != 4 || r.asked[4].After != 5 || r.broken < 2 {
		t.Errorf("asked %+v", r.asked[2:])
	}
}

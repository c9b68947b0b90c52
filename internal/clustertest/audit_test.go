package clustertest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/trust"
)

// by is as for a request by a route that is recorded, as the handler says it.
func (c asking) by(ctx context.Context, i int, token trust.Token, route string) context.Context {
	trail := &auth.Trail{From: fmt.Sprintf("192.0.2.%d:5", i), Route: route}
	trail.Mark()
	return auth.WithTrail(c.as(ctx, i, token), trail)
}

// records reads the whole audit at member i, page by page.
func (c asking) records(i int, q auth.AuditRequest) (all []auth.AuditRecord) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	for q.Limit = 7; ; {
		reply, err := c.Node(i).Audit().Audit(c.as(ctx, i, c.root), q)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, reply.Records...)
		if q.Cursor, q.HasAfter, q.After = reply.Cursor, false, 0; q.Cursor == "" {
			return all
		}
	}
}

// TestAuditOverLeaders: every change that was acknowledged has one record, however many leaders there were, in the order of the log, the same at
// every member. No record has a payload or a secret (SPEC A8).
func TestAuditOverLeaders(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		const payload = "known-only-to-the-test"
		operator := c.create(0, auth.CreateTokenRequest{Name: "operator", Roles: []string{"deploy", "operate"}})
		c.everywhere(operator, "")
		acked, perhaps := map[string]int{}, map[string]int{}
		for round := range 3 {
			leader := c.Leader()
			for n := range 12 {
				if n == 4 {
					c.Kill(leader)
				}
				up := c.Up()
				i, name := up[n%len(up)], fmt.Sprintf("mail.r%d-%d", round, n)
				ctx, cancel := c.Context(patience)
				_, err := c.Node(i).Guarded().PutBehavior(c.by(ctx, i, operator, "PUT /v1/behaviors/{name}"), api.PutBehaviorRequest{
					Name: name, Policy: json.RawMessage(`{"kind":"external","description":"` + payload + `"}`),
				})
				cancel()
				switch {
				case err == nil:
					acked[name] = 1
				case api.CodeOf(err) == api.CodeOutcomeUnknown:
					perhaps[name] = 1
				}
			}
			c.Start(leader)
			c.Leader()
			c.everywhere(operator, "")
		}
		c.Agree()
		all := c.records(0, auth.AuditRequest{Route: "/v1/behaviors/{name}"})
		for _, x := range all {
			name, ok := strings.CutPrefix(x.Target, "default/")
			if acked[name]--; !ok || acked[name]+perhaps[name] < 0 || x.Token != "operator" || x.Code != "" || !strings.HasPrefix(x.From, "192.0.2.") {
				t.Errorf("%+v", x)
			}
		}
		for name, left := range acked {
			if left > 0 {
				t.Errorf("%s was changed, and is not recorded", name)
			}
		}
		if len(all) < 30 || !slices.IsSortedFunc(all, func(a, b auth.AuditRecord) int { return int(a.Index) - int(b.Index) }) {
			t.Errorf("%d records, or out of order", len(all))
		}
		for i := 1; i < 3; i++ {
			if other := c.records(i, auth.AuditRequest{Route: "/v1/behaviors/{name}"}); !slices.Equal(other, all) {
				t.Errorf("member %d has other records", i)
			}
		}
		text, err := json.Marshal(c.records(0, auth.AuditRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		hash := operator.Hash()
		for _, secret := range []string{payload, operator.Text(), c.root.Text(), hex.EncodeToString(hash[:]), string(hash[:])} {
			if strings.Contains(string(text), secret) {
				t.Errorf("a record has %q", secret)
			}
		}
	})
}

// TestAuditOfTokens: what a token does is recorded under its name, also that it revokes itself, and what it tries after that. Who may not
// administer everything sees nothing. A stream has the records as they come, and ends with its token (SPEC A8, A4).
func TestAuditOfTokens(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		boss := c.create(0, auth.CreateTokenRequest{Name: "boss", Roles: []string{"admin", "submit", "operate"}})
		lab := c.create(0, auth.CreateTokenRequest{Name: "lab", Roles: []string{"admin"}, Namespaces: []string{"lab"}})
		c.everywhere(boss, "")
		c.everywhere(lab, "")
		ctx, cancel := c.Context(patience)
		defer cancel()
		follower := c.Followers()[0]
		stream, err := c.Node(follower).Audit().FollowAudit(c.as(ctx, follower, boss), auth.AuditRequest{Refused: "false"})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		id := c.SubmitRequest(1, api.SubmitRequest{Behavior: "ext"}).Task.ID
		own, err := c.Node(2).Guarded().Submit(c.as(ctx, 2, boss), api.SubmitRequest{Behavior: "ext"})
		if err != nil {
			t.Fatal(err)
		}
		c.Agree() // every node knows whose tasks they are
		for _, task := range []string{id, own.Task.ID} {
			trail := &auth.Trail{From: "here", Route: "POST /v1/tasks/{id}/cancel"} // the guard decides
			if _, err := c.Node(2).Guarded().Cancel(auth.WithTrail(c.as(ctx, 2, boss), trail), "", task); err != nil {
				t.Fatal(err)
			}
		}
		text := func(x auth.AuditRecord) string { return fmt.Sprintf("%s %s %s %s", x.Token, x.Route, x.Target, x.Code) }
		var first auth.AuditRecord
		cancelled := "boss POST /v1/tasks/{id}/cancel default/" + id + " "
		if e, err := stream.Next(ctx); err != nil || json.Unmarshal(e.Data, &first) != nil || text(first) != cancelled || e.Rev != first.Number {
			t.Fatalf("the stream: %+v, %v", e, err)
		}
		late := c.by(ctx, 1, boss, "DELETE /v1/tasks/{id}")
		if err := c.Node(2).Tokens().RevokeToken(c.by(ctx, 2, boss, "DELETE /v1/tokens/{name}"), "boss"); err != nil {
			t.Fatal(err)
		}
		if err := c.Node(1).Remove(late, "", id); api.CodeOf(err) != api.CodeTokenRevoked {
			t.Errorf("a call that was let in before: %v", err)
		}
		if err := c.Node(0).Tokens().EnableRoot(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{
			cancelled, "boss DELETE /v1/tokens/{name} boss ",
			"token:2 DELETE /v1/tasks/{id} default/" + id + " token_revoked", " enable-root  ",
		}
		var got []string
		for _, x := range c.records(0, auth.AuditRequest{}) {
			got = append(got, text(x))
		}
		if !slices.Equal(got, want) {
			t.Errorf("recorded:\n%s", strings.Join(got, "\n"))
		}
		for err = error(nil); err == nil; {
			_, err = stream.Next(ctx) // its own revocation may come first, or its end
		}
		if api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("the stream ended with %v", err)
		}
		if _, err := c.Node(0).Audit().Audit(c.as(ctx, 0, lab), auth.AuditRequest{}); api.CodeOf(err) != api.CodeForbidden {
			t.Errorf("an admin of a namespace: %v", err)
		}
		if len(c.records(1, auth.AuditRequest{Namespace: "default", Token: "boss"})) != 1 || len(c.records(1, auth.AuditRequest{Refused: "true"})) != 0 {
			t.Error("filters")
		}
	})
}

// TestAuditRefusals: refusals that all members have seen are one record a minute for each token, route and namespace, and all are counted,
// also when the leader is killed before it is told (SPEC A8).
func TestAuditRefusals(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.everywhere(c.create(0, auth.CreateTokenRequest{Name: "reader", Roles: []string{"read"}}), "") // its number is 2
		refuse := func(members []int, n int) {
			for _, i := range members {
				for range n {
					c.Node(i).Refused(auth.Refusal{Token: 2, From: "192.0.2.1:5", Route: "GET /v1/tokens"})
					c.Node(i).Refused(auth.Refusal{Token: 2, From: "192.0.2.1:5", Route: "DELETE /v1/tasks/{id}", Namespace: "lab"})
				}
			}
		}
		counted := func() (n int64, records int) {
			for _, x := range c.records(c.Up()[0], auth.AuditRequest{Refused: "true", Token: "reader"}) {
				n, records = n+x.Requests, records+1
				if x.Code != api.CodeForbidden || x.From != "192.0.2.1:5" || x.Route == "GET /v1/tokens" != (x.Target == "") || x.Target != "" && x.Target != "lab/" {
					t.Fatalf("%+v", x)
				}
			}
			return n, records
		}
		all := func(want int64) {
			t.Helper()
			c.Eventually(fmt.Sprintf("%d refusals", want), func() bool { n, _ := counted(); return n == want })
		}
		refuse([]int{0, 1, 2}, 5)
		all(30)
		if n, records := counted(); records != 2 {
			t.Errorf("%d refusals in %d records", n, records)
		}
		leader := c.Leader()
		c.Kill(leader)
		refuse(c.Up(), 3)
		all(42)
		if n, records := counted(); records > 4 {
			t.Errorf("%d refusals in %d records, within two minutes", n, records)
		}
		c.Start(leader)
		c.Agree()
	})
}

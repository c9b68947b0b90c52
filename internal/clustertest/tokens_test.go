package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/access"
	"github.com/taskrt/taskrt/node/peers"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/trust"
)

// asking is a cluster that asks for tokens.
type asking struct {
	*Cluster
	root trust.Token
}

// runAsking is Run for a cluster that asks for tokens.
func runAsking(t *testing.T, n int, f func(t *testing.T, c asking)) {
	t.Helper()
	root := trust.DrawToken()
	static := access.Static{Roots: [][32]byte{root.Hash()}}
	o := Options{Configure: func(_ int, cfg *node.Config) { cfg.Tokens = func() access.Static { return static } }}
	Run(t, n, o, func(t *testing.T, c *Cluster) { f(t, asking{c, root}) })
}

// enter is what the API of member i says of a token: who it is, or the code of the refusal.
func (c asking) enter(i int, token trust.Token) (*auth.Principal, string) {
	p, err := c.Node(i).Gate().Enter("Bearer "+token.Text(), "192.0.2.1:5")
	return p, api.CodeOf(err)
}

// as returns a context for calls by a token that member i lets in.
func (c asking) as(ctx context.Context, i int, token trust.Token) context.Context {
	c.t.Helper()
	p, code := c.enter(i, token)
	if code != "" {
		c.t.Fatalf("%s lets nobody in: %s", c.Members[i].ID, code)
	}
	return auth.WithPrincipal(ctx, p)
}

// create makes a token at member i, by the root token.
func (c asking) create(i int, r auth.CreateTokenRequest) trust.Token {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	made, err := c.Node(i).Tokens().CreateToken(c.as(ctx, i, c.root), r)
	if err != nil {
		c.t.Fatal(err)
	}
	token, err := trust.ParseToken(made.Credential)
	if err != nil {
		c.t.Fatal(err)
	}
	return token
}

// everywhere waits until every member says the same of a token: a code, or "" for one that holds.
func (c asking) everywhere(token trust.Token, code string) {
	c.t.Helper()
	for i := range c.Members {
		c.Eventually(fmt.Sprintf("%q of a token at %s", code, c.Members[i].ID), func() bool {
			_, got := c.enter(i, token)
			return got == code
		})
	}
}

// under is a call of a token that is under way.
type under struct {
	what string
	done chan error
}

// openCalls begins what may be open for long: a wait, events, an accept, an export, and submits one after the other.
func (c asking) openCalls(i int, token trust.Token) []under {
	c.t.Helper()
	s := c.Node(i).Guarded()
	ctx := c.as(c.t.Context(), i, token)
	id := c.Submit(i, "ext", `{}`)
	begin := func(what string, call func() error) under {
		u := under{what, make(chan error, 1)}
		go func() { u.done <- call() }()
		return u
	}
	const long = 4 * time.Minute
	return []under{
		begin("wait", func() error {
			_, err := s.Task(ctx, "", id, api.GetOptions{Until: "final", Wait: long})
			return err
		}),
		begin("events", func() error {
			stream, err := s.Events(ctx, api.EventsRequest{})
			for err == nil {
				_, err = stream.Next(ctx)
			}
			return err
		}),
		begin("accept", func() error {
			_, err := s.Accept(ctx, api.AcceptRequest{Behavior: "nothing-comes", Wait: new(api.Duration(long)), Worker: "w"})
			return err
		}),
		begin("submits", func() error {
			for {
				if _, err := s.Submit(ctx, api.SubmitRequest{Behavior: "ext", Params: json.RawMessage(`{}`)}); err != nil {
					return err
				}
				time.Sleep(10 * step) // thousands of tasks a minute would show no more
			}
		}),
	}
}

// ended waits until the calls have ended, and wants it to be their token's fault.
func (c asking) ended(calls []under) {
	c.t.Helper()
	for _, u := range calls {
		select {
		case err := <-u.done:
			if code := api.CodeOf(err); code != api.CodeUnauthenticated && code != api.CodeTokenRevoked {
				c.t.Errorf("%s ended with %v", u.what, err)
			}
		case <-time.After(patience):
			c.t.Errorf("%s goes on", u.what)
		}
	}
}

// TestApplyDecides: what a token may change is decided where it is applied, whichever node was asked. The Service that is called here has no guard
// in front of it (SPEC A5).
func TestApplyDecides(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		clerk := c.create(0, auth.CreateTokenRequest{Name: "clerk", Roles: []string{"submit"}})
		c.everywhere(clerk, "")
		ctx, cancel := c.Context(patience)
		defer cancel()
		far := c.SubmitRequest(1, api.SubmitRequest{Behavior: "ext"}).Task
		for i := range c.Members {
			by := c.as(ctx, i, clerk)
			own, err := c.Node(i).Submit(by, api.SubmitRequest{Behavior: "ext"})
			if err != nil {
				t.Fatal(err)
			}
			for what, call := range map[string]func(id string) error{
				"cancel": func(id string) error { _, err := c.Node(i).Cancel(by, "", id); return err },
				"update": func(id string) error {
					_, err := c.Node(i).Txn(by, api.TxnRequest{Update: []api.TxnUpdate{{ID: id, Labels: map[string]string{}}}})
					return err
				},
			} {
				if err := call(far.ID); api.CodeOf(err) != api.CodeForbidden {
					t.Errorf("%s of another's task at %s: %v", what, c.Members[i].ID, err)
				}
				if err := call(own.Task.ID); err != nil {
					t.Errorf("%s at %s: %v", what, c.Members[i].ID, err)
				}
			}
			if err := c.Node(i).Remove(c.as(ctx, i, c.root), "", own.Task.ID); err != nil {
				t.Errorf("the root token at %s: %v", c.Members[i].ID, err)
			}
		}
		c.Agree()
		if x, err := c.Node(0).Task(ctx, "", far.ID, api.GetOptions{}); err != nil || x.Rev != far.Rev {
			t.Errorf("%+v, %v", x, err)
		}
	})
}

// external makes the behaviors of openCalls.
func (c asking) external() {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	for _, name := range []string{"ext", "nothing-comes"} {
		if _, err := c.Node(0).PutBehavior(ctx, api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(`{"kind":"external"}`)}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestRevokedElsewhere: a token is revoked at one member while a wait, a stream, an accept and submits of it are under way at another. All of them
// end, no member lets it in any more, and nothing that it sent is carried out later (SPEC A4).
func TestRevokedElsewhere(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		ci := c.create(1, auth.CreateTokenRequest{Name: "ci-job", Roles: []string{"read", "submit", "work"}})
		c.everywhere(ci, "")
		leader := c.Leader()
		here, there := (leader+1)%3, (leader+2)%3
		calls := c.openCalls(here, ci)
		late := c.as(t.Context(), here, ci) // its request came in before the revocation
		c.Sleep(10 * time.Second)
		for _, u := range calls {
			if len(u.done) > 0 {
				t.Fatalf("%s ended by itself: %v", u.what, <-u.done)
			}
		}
		if err := c.Node(there).Tokens().RevokeToken(c.as(t.Context(), there, c.root), "ci-job"); err != nil {
			t.Fatal(err)
		}
		if _, code := c.enter(there, ci); code != api.CodeUnauthenticated {
			t.Errorf("the member that has revoked a token says %q of it", code)
		}
		c.ended(calls)
		c.everywhere(ci, api.CodeUnauthenticated)
		s := c.Node(here).Guarded()
		if r, err := s.Submit(late, api.SubmitRequest{Behavior: "ext"}); api.CodeOf(err) != api.CodeTokenRevoked {
			t.Errorf("a submit that was let in before: %+v, %v", r, err)
		}
		if _, err := s.Task(late, "", "any-id", api.GetOptions{}); api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("a read that was let in before: %v", err)
		}
	})
}

// TestExpiry: a token ends by the log's clock, at every member, while calls of it are under way. Then its name is free (SPEC A4).
func TestExpiry(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		for i := range 3 { // it holds everywhere when it was made
			at := c.create(i, auth.CreateTokenRequest{Name: fmt.Sprintf("made-%d", i), Roles: []string{"read"}})
			for j := range 3 {
				code := api.CodeNoLeader
				for tries := 0; code == api.CodeNoLeader && tries < 100; tries++ { // a gate learns of a leader a moment after its node does
					synctest.Wait()
					_, code = c.enter(j, at)
				}
				if code != "" {
					t.Errorf("made at %d, at once at %d: %s", i, j, code)
				}
			}
		}
		r := auth.CreateTokenRequest{Name: "short", Roles: []string{"read", "submit", "work"}, TTL: api.Duration(time.Minute)}
		short := c.create(0, r)
		c.everywhere(short, "")
		began := time.Now()
		calls := c.openCalls(1, short)
		c.Sleep(50*time.Second - time.Since(began))
		c.everywhere(short, "")
		c.ended(calls)
		if lived := time.Since(began); lived < 59*time.Second || lived > 65*time.Second {
			t.Errorf("it lived %v", lived)
		}
		c.everywhere(short, api.CodeUnauthenticated)
		c.create(2, r)
	})
}

// TestRotation: after a rotation both secrets hold for a while, then the new one alone. No call ends meanwhile (SPEC A4).
func TestRotation(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		former := c.create(0, auth.CreateTokenRequest{Name: "ci-job", Roles: []string{"read", "submit", "work"}})
		c.everywhere(former, "")
		calls := c.openCalls(1, former)
		overlap := api.Duration(time.Minute)
		made, err := c.Node(2).Tokens().RotateToken(c.as(t.Context(), 2, c.root), auth.RotateTokenRequest{Name: "ci-job", Overlap: &overlap})
		if err != nil {
			t.Fatal(err)
		}
		next, err := trust.ParseToken(made.Credential)
		if err != nil {
			t.Fatal(err)
		}
		c.everywhere(next, "")
		c.everywhere(former, "")
		c.Sleep(70 * time.Second)
		c.everywhere(former, api.CodeUnauthenticated)
		c.everywhere(next, "")
		for _, u := range calls {
			if len(u.done) > 0 {
				t.Errorf("%s ended by itself: %v", u.what, <-u.done)
			}
		}
		if err := c.Node(0).Tokens().RevokeToken(c.as(t.Context(), 0, c.root), "ci-job"); err != nil {
			t.Fatal(err)
		}
		c.ended(calls)
	})
}

// TestCutOffMember: a member that knows no leader cannot know which tokens were revoked. After 5 s it refuses those that the state keeps, and
// takes them again when it is back. The root token holds all the time (SPEC A4).
func TestCutOffMember(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		c.external()
		ci := c.create(0, auth.CreateTokenRequest{Name: "ci-job", Roles: []string{"read", "submit", "work"}})
		c.everywhere(ci, "")
		cut := c.Followers()[0]
		other := (cut + 1) % 3
		c.Net.Isolate(c.Members[cut].Addr)
		c.Eventually("a member that is cut off refuses kept tokens", func() bool { _, code := c.enter(cut, ci); return code == api.CodeNoLeader })
		if _, code := c.enter(cut, c.root); code != "" {
			t.Errorf("root at the member that is cut off: %s", code)
		}
		if err := c.Node(other).Tokens().RevokeToken(c.as(t.Context(), other, c.root), "ci-job"); err != nil {
			t.Fatal(err)
		}
		c.Net.Rejoin(c.Members[cut].Addr)
		c.everywhere(ci, api.CodeUnauthenticated)
	})
}

// TestRootSwitch: another token with the role admin turns the root token off, at once and everywhere. Who holds the secret turns it on again
// (SPEC A4).
func TestRootSwitch(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		if err := c.Node(0).Tokens().DisableRoot(c.as(t.Context(), 0, c.root)); api.CodeOf(err) != api.CodeForbidden {
			t.Errorf("the root token turns itself off: %v", err)
		}
		boss := c.create(0, auth.CreateTokenRequest{Name: "boss", Roles: []string{"admin"}})
		c.everywhere(boss, "")
		if err := c.Node(1).Tokens().DisableRoot(c.as(t.Context(), 1, boss)); err != nil {
			t.Fatal(err)
		}
		c.everywhere(c.root, api.CodeUnauthenticated)
		if _, err := peers.Ask(t.Context(), c.Net.Node("tool"), c.Members[2].Addr, peers.Request{Op: peers.OpEnableRoot}); err != nil {
			t.Fatal(err)
		}
		c.everywhere(c.root, "")
	})
}

// TestTokensOfTokens: a token makes, sees and ends the tokens that may do nothing that it may not. The others are not there for it (SPEC A4, A5).
func TestTokensOfTokens(t *testing.T) {
	runAsking(t, 1, func(t *testing.T, c asking) {
		lead := c.create(0, auth.CreateTokenRequest{Name: "lead", Roles: []string{"admin", "read"}, Namespaces: []string{"team-*"}})
		c.create(0, auth.CreateTokenRequest{Name: "stranger", Roles: []string{"read"}})
		c.everywhere(lead, "")
		tokens, ctx := c.Node(0).Tokens(), c.as(t.Context(), 0, lead)
		for _, x := range []struct {
			r    auth.CreateTokenRequest
			code string
		}{
			{auth.CreateTokenRequest{Name: "reader", Roles: []string{"read"}, Namespaces: []string{"team-a"}}, ""},
			{auth.CreateTokenRequest{Name: "wide", Roles: []string{"read"}}, api.CodeForbidden},
			{auth.CreateTokenRequest{Name: "worker", Roles: []string{"work"}, Namespaces: []string{"team-a"}}, api.CodeForbidden},
			{auth.CreateTokenRequest{Name: "reader", Roles: []string{"read"}, Namespaces: []string{"team-a"}}, api.CodeTokenExists},
			{auth.CreateTokenRequest{Name: "R", Roles: []string{"read"}}, api.CodeInvalidField},
		} {
			if _, err := tokens.CreateToken(ctx, x.r); api.CodeOf(err) != x.code {
				t.Errorf("%+v: %v", x.r, err)
			}
		}
		reply, err := tokens.Tokens(ctx, auth.TokensRequest{})
		if err != nil || len(reply.Tokens) != 2 || reply.Tokens[0].Name != "lead" || reply.Tokens[1].Name != "reader" || reply.Tokens[1].CreatedBy != "lead" {
			t.Errorf("%+v, %v", reply, err)
		}
		_, shown := tokens.Token(ctx, "stranger")
		_, rotated := tokens.RotateToken(ctx, auth.RotateTokenRequest{Name: "stranger"})
		for what, err := range map[string]error{"show": shown, "rotate": rotated, "revoke": tokens.RevokeToken(ctx, "stranger"), "disable root": tokens.DisableRoot(ctx)} {
			if want := api.CodeTokenNotFound; api.CodeOf(err) != want && what != "disable root" || api.CodeOf(err) == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
		once := api.WithOnce(ctx, api.Once{Key: 7, Body: 9})
		for range 2 { // a repeat is answered alike
			if err := tokens.RevokeToken(once, "reader"); err != nil {
				t.Error(err)
			}
		}
		again := api.WithOnce(ctx, api.Once{Key: 8, Body: 9})
		r := auth.CreateTokenRequest{Name: "reader", Roles: []string{"read"}, Namespaces: []string{"team-a"}}
		first, err := tokens.CreateToken(again, r)
		second, err2 := tokens.CreateToken(again, r)
		if err != nil || err2 != nil || first.Credential == "" || second.Credential != "" || second.Rev != first.Rev {
			t.Errorf("%+v, %v; %+v, %v", first, err, second, err2)
		}
		self, err := tokens.Self(ctx)
		if err != nil || self.Name != "lead" {
			t.Errorf("%+v, %v", self, err)
		}
		var left int
		c.Node(0).Store().Local(func(m *task.Machine) {
			for range m.Access().After("") {
				left++
			}
		})
		if left != 3 {
			t.Errorf("%d tokens are kept", left)
		}
	})
}

// TestSignInRules: who may say whose word counts, and what for. What one member was told holds at every one (SPEC A7).
func TestSignInRules(t *testing.T) {
	runAsking(t, 3, func(t *testing.T, c asking) {
		boss := c.create(0, auth.CreateTokenRequest{Name: "boss", Roles: []string{"admin", "read"}})
		lead := c.create(0, auth.CreateTokenRequest{Name: "lead", Roles: []string{"admin", "read"}, Namespaces: []string{"team-*"}})
		c.everywhere(lead, "")
		rule := func(role string) []auth.IssuerRule {
			return []auth.IssuerRule{{Claim: "groups", Value: "x", Roles: []string{role}}}
		}
		c.everywhere(boss, "")
		for _, x := range []struct {
			by    trust.Token
			name  string
			rules []auth.IssuerRule
			code  string
		}{
			{boss, "corp", rule("read"), ""},
			{boss, "corp", rule("deploy"), api.CodeForbidden},
			{lead, "corp", rule("read"), api.CodeForbidden},
			{c.root, "other", rule("deploy"), ""},
			{c.root, "other", nil, api.CodeInvalidField},
		} {
			i := auth.Issuer{Name: x.name, URL: "https://id.example", ClientID: "taskrt", Rules: x.rules}
			if _, err := c.Node(1).SignIn().PutIssuer(c.as(t.Context(), 1, x.by), i); api.CodeOf(err) != x.code {
				t.Errorf("%s with %v: %v", x.name, x.rules, err)
			}
		}
		for i := range c.Members {
			reply, err := c.Node(i).SignIn().Issuers(c.as(t.Context(), i, c.root))
			if err != nil || len(reply.Issuers) != 2 || reply.Issuers[0].Name != "corp" || reply.Issuers[1].Rules[0].Roles[0] != "deploy" {
				t.Errorf("at %s: %+v, %v", c.Members[i].ID, reply, err)
			}
		}
		if err := c.Node(2).SignIn().RemoveIssuer(c.as(t.Context(), 2, c.root), "corp"); err != nil {
			t.Error(err)
		}
		if err := c.Node(0).SignIn().RemoveIssuer(c.as(t.Context(), 0, c.root), "corp"); api.CodeOf(err) != api.CodeIssuerNotFound {
			t.Errorf("twice: %v", err)
		}
	})
}

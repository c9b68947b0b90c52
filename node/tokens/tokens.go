package tokens

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/trust"
)

// Log is how the tokens of the state are read and changed. service.Log implements it.
type Log interface {
	Propose(context.Context, task.Command) (task.Result, error) // a rejection is an error
	// Read runs a function on a state that has whatever was acknowledged before, and again as long as it wants more.
	Read(context.Context, func(*task.Machine) (more bool)) error
	Local(func(*task.Machine))
	Await(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
	Done(context.Context) bool                     // the only command of a request was carried out before, under its idempotency key
}

// Manager manages the cluster's access tokens (SPEC A4). Every method asks who calls, and refuses nobody's calls. A caller with the role admin
// manages the tokens that may do nothing that its own token may not; the other tokens are not there for it.
type Manager struct{ log Log }

var _ auth.Access = Manager{}

// NewManager makes a Manager.
func NewManager(l Log) Manager { return Manager{l} }

// lookedAt is how many tokens one look at the state passes over.
const lookedAt = 10_000

// managing is what a caller needs to manage tokens: which ones, manages says.
var managing = auth.Rule{Scope: auth.Somewhere, Of: access.Admin}

// manages reports whether a token is there for a caller.
func manages(p *auth.Principal, x *access.Token) bool { return x != nil && p.Grant.Covers(&x.Grant) }

func noToken(name string) error { return api.NewError(api.CodeTokenNotFound, "no token %s", name) }

// Tokens implements auth.Access.
func (t Manager) Tokens(ctx context.Context, r auth.TokensRequest) (*auth.TokensReply, error) {
	p, err := managing.Caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	after, err := r.After()
	if err != nil {
		return nil, err
	}
	reply := &auth.TokensReply{Tokens: []auth.Token{}}
	err = t.log.Read(ctx, func(m *task.Machine) (more bool) {
		rows := 0
		for x := range m.Access().After(after) {
			if len(reply.Tokens) == r.Limit {
				reply.Cursor = auth.Cursor(after)
				return false
			}
			if rows++; rows > lookedAt {
				return true
			}
			if after = x.Name; manages(p, x) {
				reply.Tokens = append(reply.Tokens, *showToken(x))
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// Token implements auth.Access.
func (t Manager) Token(ctx context.Context, name string) (*auth.Token, error) {
	x, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return showToken(x), nil
}

// find returns a token that the caller may manage.
func (t Manager) find(ctx context.Context, name string) (x *access.Token, err error) {
	p, err := managing.Caller(ctx)
	if err == nil {
		err = auth.CheckName(name)
	}
	if err == nil {
		err = t.log.Read(ctx, func(m *task.Machine) bool { x = m.Access().Named(name); return false })
	}
	switch {
	case err != nil:
		return nil, err
	case !manages(p, x):
		return nil, noToken(name)
	}
	return x, nil
}

// Self implements auth.Access.
func (t Manager) Self(ctx context.Context) (*auth.Token, error) {
	p := auth.PrincipalOf(ctx)
	if p == nil {
		return nil, auth.Unauthenticated()
	}
	if p.Members || p.Number == access.Root {
		return &auth.Token{Name: p.Name, Roles: listed(p.Grant.Roles.Names()), Namespaces: listed(p.Grant.Namespaces), Behaviors: listed(p.Grant.Behaviors)}, nil
	}
	var x *access.Token
	if err := t.log.Read(ctx, func(m *task.Machine) bool { x = m.Access().Numbered(p.Number); return false }); err != nil {
		return nil, err
	}
	if x == nil { // revoked while the read was on its way
		return nil, auth.Unauthenticated()
	}
	return showToken(x), nil
}

// CreateToken implements auth.Access.
func (t Manager) CreateToken(ctx context.Context, r auth.CreateTokenRequest) (*auth.CreatedToken, error) {
	p, err := managing.Caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	g, err := r.Grant()
	if err != nil {
		return nil, err
	}
	if !p.Grant.Covers(&g) {
		return nil, api.NewError(api.CodeForbidden, "the new token may do nothing that this one may not: %s in namespaces %s for behaviors %s",
			p.Grant.Roles, p.Grant.Namespaces, p.Grant.Behaviors)
	}
	drawn, hash := credential(r.Hash)
	res, err := t.log.Propose(ctx, task.CreateToken{
		Name: r.Name, Roles: uint64(g.Roles), Namespaces: g.Namespaces, Behaviors: g.Behaviors, Hash: hash[:],
		TTL: task.Millis(time.Duration(r.TTL).Milliseconds()), Rate: r.Rate,
	})
	return t.made(ctx, r.Name, &res, err, drawn, hash)
}

// RotateToken implements auth.Access.
func (t Manager) RotateToken(ctx context.Context, r auth.RotateTokenRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	x, err := t.find(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	overlap := auth.DefaultOverlap
	if r.Overlap != nil {
		overlap = time.Duration(*r.Overlap)
	}
	drawn, hash := credential(r.Hash)
	res, err := t.log.Propose(ctx, task.RotateToken{Name: r.Name, Number: x.Number, Hash: hash[:], Overlap: task.Millis(overlap.Milliseconds())})
	return t.made(ctx, r.Name, &res, err, drawn, hash)
}

// credential returns the hash of a token's secret: the given hash, in hex, or the hash of a secret that it draws.
func credential(given string) (drawn *trust.Token, hash access.Hash) {
	if given != "" {
		_, _ = hex.Decode(hash[:], []byte(given)) // it was checked
		return nil, hash
	}
	d := trust.DrawToken()
	return &d, d.Hash()
}

// made shows a token that a command has made. A repeat of a request is answered with what the first one did, so the secret that was drawn
// for the repeat is the token's only if its hash is.
func (t Manager) made(ctx context.Context, name string, res *task.Result, err error, drawn *trust.Token, hash access.Hash) (*auth.CreatedToken, error) {
	if err != nil {
		return nil, err
	}
	if err := t.log.Await(ctx, res.Index); err != nil {
		return nil, err
	}
	var x *access.Token
	t.log.Local(func(m *task.Machine) { x = m.Access().Named(name) })
	if x == nil { // revoked by another in between
		return nil, noToken(name)
	}
	made := &auth.CreatedToken{Token: *showToken(x)}
	if drawn != nil && x.Hash == hash {
		made.Credential = drawn.Text()
	}
	return made, nil
}

// RevokeToken implements auth.Access. When it returns this node refuses the token, and every other does as soon as it has applied the log up to
// there.
func (t Manager) RevokeToken(ctx context.Context, name string) error {
	x, err := t.find(ctx, name)
	if api.CodeOf(err) == api.CodeTokenNotFound && t.log.Done(ctx) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.change(ctx, task.RevokeToken{Name: name, Number: x.Number})
}

// DisableRoot implements auth.Access. The root token does not turn itself off: somebody must be left who can do what it can.
func (t Manager) DisableRoot(ctx context.Context) error {
	p, err := auth.AdminEverywhere.Caller(ctx)
	switch {
	case err != nil:
		return err
	case p.Number == access.Root:
		return api.NewError(api.CodeForbidden, "the root token does not turn itself off: make a token with the role admin, and use it")
	}
	return t.setRoot(ctx, true)
}

// EnableRoot turns the root token on again. It asks nobody: the caller has seen that the cluster secret is held.
func (t Manager) EnableRoot(ctx context.Context) error {
	c := &auth.Trail{From: "node port", Route: "enable-root"} // by whoever holds the cluster secret
	c.Mark()
	return t.setRoot(auth.WithTrail(ctx, c), false)
}

func (t Manager) setRoot(ctx context.Context, off bool) error {
	return t.change(ctx, task.SetRoot{Off: off})
}

// change proposes a command, and returns when this node has applied it.
func (t Manager) change(ctx context.Context, c task.Command) error {
	res, err := t.log.Propose(ctx, c)
	if err != nil {
		return err
	}
	return t.log.Await(ctx, res.Index)
}

func showToken(x *access.Token) *auth.Token {
	return &auth.Token{
		Name: x.Name, Subject: x.Subject, Roles: x.Grant.Roles.Names(), Namespaces: listed(x.Grant.Namespaces), Behaviors: listed(x.Grant.Behaviors),
		ExpiresAt: view.Time(task.Time(x.Expires)), CreatedAt: view.Time(task.Time(x.CreatedAt)), CreatedBy: x.Creator,
		RotatedAt: view.Time(task.Time(x.RotatedAt)), FormerUntil: view.Time(task.Time(x.FormerUntil)), Rate: x.Rate, Rev: x.Rev,
	}
}

// listed is a list for JSON, which has an empty one for none.
func listed(all []string) []string { return append([]string{}, all...) }

// Session is a token for somebody who has signed in (SPEC A7).
type Session struct {
	Subject  string
	Grant    access.Grant
	Lifetime time.Duration
	Hash     string // as in auth.CreateTokenRequest
}

// Begin makes a token for a session. It asks nobody: the caller has seen that somebody vouches for the subject.
func (t Manager) Begin(ctx context.Context, s Session) (*auth.CreatedToken, error) {
	drawn, hash := credential(s.Hash)
	name := "session-" + hex.EncodeToString(hash[:8])
	res, err := t.log.Propose(auth.WithPrincipal(ctx, nil), task.CreateToken{
		Name: name, Roles: uint64(s.Grant.Roles), Namespaces: s.Grant.Namespaces, Behaviors: s.Grant.Behaviors, Hash: hash[:],
		TTL: task.Millis(s.Lifetime.Milliseconds()), Subject: s.Subject,
	})
	return t.made(ctx, name, &res, err, drawn, hash)
}

// End revokes the token that makes the call.
func (t Manager) End(ctx context.Context) error {
	p := auth.PrincipalOf(ctx)
	switch {
	case p == nil:
		return auth.Unauthenticated()
	case p.Members || p.Number == access.Root:
		return api.NewError(api.CodeForbidden, "the token %s follows from a secret: it ends with the secret", p.Name)
	}
	return t.change(ctx, task.RevokeToken{Name: p.Name, Number: p.Number})
}

package signin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/node/tokens"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
)

// Desk begins and ends sessions, and keeps the issuers. It implements auth.SignIn.
type Desk struct {
	log    tokens.Log
	tokens tokens.Manager
	verifier
	turns chan struct{} // has an item for each token that is being verified

	mu   sync.Mutex
	rev  uint64 // of issuers
	all  []auth.Issuer
	pace map[string]*rate.Limiter // of sessions, by subject
}

var _ auth.SignIn = (*Desk)(nil)

const (
	maxTurns = 4
	// sessionEvery is the time in which a subject begins one session, after a burst: sessions take the place of other tokens.
	sessionEvery = 10 * time.Second
	sessionBurst = 20
	maxPaces     = 10_000
	putRounds    = 5
)

// New makes a Desk over the tokens of a state.
func New(l tokens.Log) *Desk {
	return &Desk{log: l, tokens: tokens.NewManager(l), turns: make(chan struct{}, maxTurns), pace: map[string]*rate.Limiter{}}
}

// settings returns the issuers of a state. Nobody may change them.
func (d *Desk) settings(m *task.Machine) (all []auth.Issuer, rev uint64, err error) {
	text, rev := m.Access().SignIn()
	d.mu.Lock()
	defer d.mu.Unlock()
	if rev != d.rev || d.all == nil {
		all := []auth.Issuer{}
		if text != "" {
			if err := json.Unmarshal([]byte(text), &all); err != nil { // of a newer build
				return nil, rev, api.NewError(api.CodeInternal, "the issuers in the state cannot be read: %v", err)
			}
		}
		d.all, d.rev = all, rev
	}
	return d.all, rev, nil
}

// read is settings of a state that has whatever was acknowledged before.
func (d *Desk) read(ctx context.Context) (all []auth.Issuer, rev uint64, err error) {
	e := d.log.Read(ctx, func(m *task.Machine) bool { all, rev, err = d.settings(m); return false })
	if e != nil {
		return nil, 0, e
	}
	return all, rev, err
}

// Issuers implements auth.SignIn.
func (d *Desk) Issuers(ctx context.Context) (*auth.IssuersReply, error) {
	if _, err := auth.AdminEverywhere.Caller(ctx); err != nil {
		return nil, err
	}
	all, _, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	return &auth.IssuersReply{Issuers: all}, nil
}

// PutIssuer implements auth.SignIn. No rule gives what the caller's own token lacks.
func (d *Desk) PutIssuer(ctx context.Context, i auth.Issuer) (*auth.Issuer, error) {
	p, err := auth.AdminEverywhere.Caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := i.Check(); err != nil {
		return nil, err
	}
	for n := range i.Rules {
		g, err := i.Rules[n].Grant()
		if err != nil {
			return nil, err
		}
		if !p.Grant.Covers(&g) {
			return nil, api.NewError(api.CodeForbidden, "rules[%d] gives more than this token may do", n)
		}
	}
	err = d.change(ctx, func(all []auth.Issuer) ([]auth.Issuer, error) {
		at, has := slices.BinarySearchFunc(all, i.Name, byName)
		switch {
		case has:
			all[at] = i
		case len(all) >= auth.MaxIssuers:
			e := api.FieldError(api.CodeInvalidField, "name", "there are %d issuers, and no more are kept", auth.MaxIssuers)
			e.Limit = auth.MaxIssuers
			return nil, e
		default:
			all = slices.Insert(all, at, i)
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	return &i, nil
}

func byName(i auth.Issuer, name string) int { return strings.Compare(i.Name, name) }

// RemoveIssuer implements auth.SignIn. Sessions that it has vouched for go on until they end or are revoked.
func (d *Desk) RemoveIssuer(ctx context.Context, name string) error {
	if _, err := auth.AdminEverywhere.Caller(ctx); err != nil {
		return err
	}
	return d.change(ctx, func(all []auth.Issuer) ([]auth.Issuer, error) {
		at, has := slices.BinarySearchFunc(all, name, byName)
		if !has {
			return nil, noIssuer(name)
		}
		return slices.Delete(all, at, at+1), nil
	})
}

func noIssuer(name string) error {
	return api.NewError(api.CodeIssuerNotFound, "no issuer %.64s", name)
}

// change makes other issuers of the present ones, of which it gives a copy.
func (d *Desk) change(ctx context.Context, to func([]auth.Issuer) ([]auth.Issuer, error)) error {
	for round := 0; ; round++ {
		all, rev, err := d.read(ctx)
		if err != nil {
			return err
		}
		if all, err = to(slices.Clone(all)); err != nil {
			return err
		}
		text := []byte(nil)
		if len(all) > 0 {
			if text, err = json.Marshal(all); err != nil {
				return err
			}
		}
		if len(text) > access.MaxSignIn {
			e := api.FieldError(api.CodeInvalidField, "rules", "all issuers together have at most %d bytes of rules", access.MaxSignIn)
			e.Limit = access.MaxSignIn
			return e
		}
		res, err := d.log.Propose(ctx, task.SetSignIn{Settings: string(text), Rev: rev})
		if api.CodeOf(err) == api.CodeSignInChanged && round < putRounds { // by somebody else at the same time
			continue
		}
		if err != nil {
			return err
		}
		return d.log.Await(ctx, res.Index)
	}
}

// Places implements auth.SignIn.
func (d *Desk) Places(context.Context) (*auth.PlacesReply, error) {
	reply := &auth.PlacesReply{Places: []auth.Place{}}
	var all []auth.Issuer
	var err error
	d.log.Local(func(m *task.Machine) { all, _, err = d.settings(m) })
	for i := range all {
		reply.Places = append(reply.Places, auth.Place{Name: all[i].Name, URL: all[i].URL, ClientID: all[i].ClientID})
	}
	return reply, err
}

// SignIn implements auth.SignIn.
func (d *Desk) SignIn(ctx context.Context, r auth.SignInRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	i, token, err := d.vouched(ctx, &r)
	if err != nil {
		return nil, err
	}
	g, err := grant(i, token)
	if err != nil {
		return nil, err
	}
	subject := i.Name + "/" + token.Subject
	if len(subject) > access.MaxSubject {
		return nil, refused("its subject is too long")
	}
	if !d.allow(subject) {
		e := api.NewError(api.CodeRateLimited, "%.80s begins too many sessions on this node; keep the one that holds", subject)
		e.RetryMS = sessionEvery.Milliseconds()
		return nil, e
	}
	return d.tokens.Begin(ctx, tokens.Session{Subject: subject, Grant: g, Lifetime: time.Duration(i.Session), Hash: r.Hash})
}

// vouched returns the issuer that vouches for a token, by settings that no acknowledged change has replaced.
func (d *Desk) vouched(ctx context.Context, r *auth.SignInRequest) (*auth.Issuer, *oidc.IDToken, error) {
	select {
	case d.turns <- struct{}{}:
		defer func() { <-d.turns }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	var all []auth.Issuer
	var rev uint64
	var err error
	d.log.Local(func(m *task.Machine) { all, rev, err = d.settings(m) })
	for err == nil {
		i, err := choose(all, r)
		if err != nil {
			return nil, nil, err
		}
		token, err := d.verify(ctx, i, r.Token)
		if err != nil {
			return nil, nil, err
		}
		before := rev // only now the cluster is asked, because everybody may send tokens
		if all, rev, err = d.read(ctx); err != nil || rev == before {
			return i, token, err
		}
	}
	return nil, nil, err
}

// choose returns the issuer that is meant: by its name, or by what the token says of itself, which is verified later.
func choose(all []auth.Issuer, r *auth.SignInRequest) (*auth.Issuer, error) {
	if r.Issuer != "" {
		if at, has := slices.BinarySearchFunc(all, r.Issuer, byName); has {
			return &all[at], nil
		}
		return nil, noIssuer(r.Issuer)
	}
	var says struct {
		Issuer   string          `json:"iss"`
		Audience json.RawMessage `json:"aud"`
	}
	parts := strings.Split(r.Token, ".")
	if len(parts) != 3 {
		return nil, refused("it is no JWT")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(claims, &says)
	}
	if err != nil {
		return nil, refused("it is no JWT")
	}
	var audience []string
	if json.Unmarshal(says.Audience, &audience) != nil {
		audience = []string{strings.Trim(string(says.Audience), `"`)}
	}
	for i := range all {
		if all[i].URL == says.Issuer && slices.Contains(audience, all[i].ClientID) {
			return &all[i], nil
		}
	}
	return nil, api.NewError(api.CodeIssuerNotFound, "no issuer of this cluster has the URL and the client that the token names")
}

// allow reports whether a subject may begin another session now.
func (d *Desk) allow(subject string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.pace[subject]
	if l == nil {
		if len(d.pace) >= maxPaces {
			clear(d.pace)
		}
		l = rate.NewLimiter(rate.Every(sessionEvery), sessionBurst)
		d.pace[subject] = l
	}
	return l.Allow()
}

// SignOut implements auth.SignIn.
func (d *Desk) SignOut(ctx context.Context) error { return d.tokens.End(ctx) }

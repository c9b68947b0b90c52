package task

import (
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/audit"
)

// AccessToken is an access token as a record of a snapshot (SPEC A4). The word token alone means that of a lease here.
type AccessToken = access.Token

// Caller is who asked for a command.
type Caller = access.Caller

// SignIn are settings in the head of a snapshot.
type SignIn = access.SignIn

// AccessLevel is the feature level that brought access tokens, callers and creators.
const AccessLevel = 2

func (CreateToken) level() uint64 { return AccessLevel }
func (RevokeToken) level() uint64 { return AccessLevel }
func (RotateToken) level() uint64 { return AccessLevel }
func (SetRoot) level() uint64     { return AccessLevel }
func (SetSignIn) level() uint64   { return AccessLevel }

// CreateToken makes an access token. The proposer has checked that the caller may give away all of these rights.
type CreateToken struct {
	Name       string   `cbor:"1,keyasint"`
	Roles      uint64   `cbor:"2,keyasint"` // of access.Roles
	Namespaces []string `cbor:"3,keyasint"` // patterns
	Behaviors  []string `cbor:"4,keyasint"` // patterns
	Hash       []byte   `cbor:"5,keyasint"` // SHA-256 of the secret
	TTL        Millis   `cbor:"6,keyasint,omitempty"`
	Rate       int64    `cbor:"7,keyasint,omitempty"`
	Subject    string   `cbor:"8,keyasint,omitempty"` // of a session (SPEC A7): for whom an issuer vouches
}

func (c CreateToken) apply(m *Machine) Result {
	x, r := m.access.New(access.Token{
		Name: c.Name, Grant: access.Grant{Roles: access.Roles(min(c.Roles, 1<<16-1)), Namespaces: c.Namespaces, Behaviors: c.Behaviors},
		Rate: c.Rate, CreatedAt: int64(m.now), CreatedBy: m.caller, Subject: c.Subject,
	}, c.Hash, int64(c.TTL))
	return putAccess(m, x, r)
}

// RevokeToken ends an access token.
type RevokeToken struct {
	Name   string `cbor:"1,keyasint"`
	Number uint64 `cbor:"2,keyasint,omitempty"` // 0: whichever has the name
}

func (c RevokeToken) apply(m *Machine) Result {
	x, r := m.access.Find(c.Name, c.Number)
	return dropAccess(m, x, r)
}

// RotateToken gives an access token another secret.
type RotateToken struct {
	Name    string `cbor:"1,keyasint"`
	Number  uint64 `cbor:"2,keyasint,omitempty"` // 0: whichever has the name
	Hash    []byte `cbor:"3,keyasint"`           // SHA-256 of the new secret
	Overlap Millis `cbor:"4,keyasint,omitempty"` // how long the present secret still holds beside the new one
}

func (c RotateToken) apply(m *Machine) Result {
	x, r := m.access.Rotated(c.Name, c.Number, c.Hash, int64(c.Overlap), int64(m.now))
	return putAccess(m, x, r)
}

// SetRoot turns the root token off, or on again.
type SetRoot struct {
	Off bool `cbor:"1,keyasint,omitempty"`
}

func (c SetRoot) apply(m *Machine) Result {
	if c.Off == m.access.RootOff {
		return Result{}
	}
	m.rev++
	m.access.SetRoot(c.Off, m.rev)
	m.emit(Event{Kind: AccessChanged})
	return Result{Changed: true}
}

// SetSignIn replaces the settings of sign-in (SPEC A7). The proposer has checked them.
type SetSignIn struct {
	Settings string `cbor:"1,keyasint,omitempty"`
	Rev      uint64 `cbor:"2,keyasint,omitempty"` // of the settings that it replaces
}

func (c SetSignIn) apply(m *Machine) Result {
	return accessResult(m.access.ReplaceSignIn(c.Settings, c.Rev, &m.rev))
}

// turnedAway returns the refusal of a command whose caller may ask for nothing. The refusal changes nothing and is not kept as an answer. So the
// caller can send the command again when its token holds again, or with another token.
func (m *Machine) turnedAway(c *Caller) (Result, bool) {
	switch m.caller = c.Token; {
	case *c == Caller{}:
		return Result{}, false
	case m.level < AccessLevel:
		return m.stamped(refuse(LevelTooLow, "the cluster's feature level knows no callers yet")), true
	case c.From != "" || c.Route != "" || c.Target != "":
		if field, why := audit.Wrong(c.From, c.Route, c.Target); field != "" {
			return m.stamped(invalid("caller."+field, why)), true
		}
		m.callerName = m.Access().Name(c.Token)
	}
	if c.Token != 0 && !m.access.Speaks(c.Token, int64(m.now)) {
		return noted(m, c, m.stamped(refuse(TokenRevoked, "the access token was revoked, has expired, or is turned off"))), true
	}
	return Result{}, false
}

// Access returns the access tokens for reading.
func (m *Machine) Access() access.View { return m.access.View(int64(m.now)) }

func accessResult(r access.Refusal) Result {
	return Result{Code: Code(r.Code), Field: r.Field, Message: r.Why, Changed: r.Code == ""}
}

func putAccess(m *Machine, x *access.Token, r access.Refusal) Result {
	if x != nil {
		m.rev++
		x.Rev = m.rev
		m.access.Put(x)
		m.emit(Event{Kind: AccessChanged, Access: x})
	}
	return accessResult(r)
}

func dropAccess(m *Machine, x *access.Token, r access.Refusal) Result {
	if x != nil {
		m.rev++
		m.access.Remove(x, m.rev)
		m.emit(Event{Kind: AccessRemoved, Access: x})
	}
	return accessResult(r)
}

// tickAccess ends the tokens, and the former secrets, whose time has come; the next Tick goes on.
func tickAccess(m *Machine) {
	for range m.limits.Sweep {
		was, next := m.access.Due(int64(m.now))
		if was == nil {
			return
		}
		if m.tickChange = true; next == nil {
			dropAccess(m, was, access.Refusal{})
		} else {
			putAccess(m, next, access.Refusal{})
		}
	}
}

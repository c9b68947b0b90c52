package naive

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
)

// turnedAway is A4: nobody speaks for an access token that was revoked, has expired, or is turned off.
func (m *Model) turnedAway(c task.Caller) (no task.Code) {
	m.caller, m.callerName = c.Token, m.tokenName(c.Token)
	if len(c.From) > 64 || len(c.Route) > 64 || len(c.Target) > 200 || c.Route == "" && c.From+c.Target != "" {
		return task.InvalidCommand
	} else if m.RootOff && c.Token == 1 || c.Token > 1 && m.Token(c.Token) == nil {
		return m.note(c, task.Result{Code: task.TokenRevoked}).Code
	}
	return no
}

// Token returns the access token with a number, unless it has expired; nil: there is none.
func (m *Model) Token(number uint64) *task.AccessToken {
	for _, x := range m.Access {
		if x.Number == number && (x.Expires == 0 || x.Expires > int64(m.Now)) {
			return x
		}
	}
	return nil
}

// secretWrong says what is wrong with the hash of a new secret.
func (m *Model) secretWrong(hash []byte, length task.Millis) (no []task.Code) {
	if len(hash) != 32 || bytes.Equal(hash, make([]byte, 32)) || length < 0 {
		return []task.Code{task.InvalidCommand}
	}
	for _, x := range m.Access {
		if bytes.Equal(x.Hash[:], hash) || bytes.Equal(x.Former[:], hash) {
			no = append(no, task.TokenExists)
		}
	}
	return no
}

func (m *Model) createToken(c task.CreateToken, got task.Result) task.Result {
	no := m.secretWrong(c.Hash, c.TTL)
	name := strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" && len(c.Name) > 2 && c.Name[0] >= 'a'
	if !name || c.Name == "root" || c.Roles == 0 || c.Roles >= 64 || c.Rate < 0 || len(c.Namespaces) == 0 || len(c.Behaviors) == 0 {
		no = append(no, task.InvalidCommand)
	}
	if m.Access[c.Name] != nil {
		no = append(no, task.TokenExists)
	}
	if c.Subject != "" && (c.TTL <= 0 || c.TTL > 12*3600*1000) || len(c.Subject) > 320 { // A7
		no = append(no, task.InvalidCommand)
	}
	if len(no) > 0 {
		return oneOf(got, no...)
	}
	var x task.AccessToken
	m.tokens++
	x.Number, x.Name, x.Rate, x.CreatedAt, x.CreatedBy = m.tokens+1, c.Name, c.Rate, int64(m.Now), m.caller
	x.Subject = c.Subject
	assign(&x.Grant.Roles, c.Roles)
	x.Grant.Namespaces, x.Grant.Behaviors = c.Namespaces, c.Behaviors
	copy(x.Hash[:], c.Hash)
	if c.TTL > 0 {
		x.Expires = int64(m.Now) + int64(c.TTL)
	}
	if by := m.Token(m.caller); by != nil {
		x.Creator = by.Name
	} else if m.caller == 1 {
		x.Creator = "root"
	}
	return m.keepToken(&x)
}

func assign[T ~uint16 | ~uint64](to *T, v uint64) { *to = T(v) }

func (m *Model) rotateToken(c task.RotateToken, got task.Result) task.Result {
	old := m.Access[c.Name]
	if old == nil || c.Number != 0 && c.Number != old.Number {
		return task.Result{Code: task.TokenNotFound}
	} else if no := m.secretWrong(c.Hash, c.Overlap); len(no) > 0 {
		return oneOf(got, no...)
	}
	x := *old
	clear(x.Former[:])
	if x.FormerUntil, x.RotatedAt = 0, int64(m.Now); c.Overlap > 0 {
		x.Former, x.FormerUntil = x.Hash, int64(m.Now)+int64(c.Overlap)
	}
	copy(x.Hash[:], c.Hash)
	return m.keepToken(&x)
}

func (m *Model) revokeToken(c task.RevokeToken) task.Result {
	if old := m.Access[c.Name]; old == nil || c.Number != 0 && c.Number != old.Number {
		return task.Result{Code: task.TokenNotFound}
	}
	delete(m.Access, c.Name)
	m.Told[c.Name] = true
	return task.Result{Changed: true}
}

func (m *Model) keepToken(x *task.AccessToken) task.Result {
	m.Access[x.Name], m.Told[x.Name] = x, true
	return task.Result{Changed: true}
}

func (m *Model) setRoot(c task.SetRoot) task.Result {
	changed := m.RootOff != c.Off
	if m.RootOff = c.Off; changed {
		m.Told[""] = true
	}
	return task.Result{Changed: changed}
}

// setSignIn is A7: the settings are replaced by who knows them as they are. The simulator says what rev they have.
func (m *Model) setSignIn(c task.SetSignIn) task.Result {
	switch {
	case len(c.Settings) > 64<<10:
		return task.Result{Code: task.InvalidCommand}
	case c.Rev != m.SignInRev:
		return task.Result{Code: task.SignInChanged}
	}
	m.SignIn, m.SignInRev = c.Settings, NewSignIn
	return task.Result{Changed: true}
}

// NewSignIn is the rev of settings of which the model does not know the rev yet.
const NewSignIn = 1<<64 - 1

// TokenTime returns when something of an access token ends by itself; 0: never.
func TokenTime(x *task.AccessToken) task.Time {
	if x.FormerUntil == 0 || x.Expires != 0 && x.Expires < x.FormerUntil {
		return task.Time(x.Expires)
	}
	return task.Time(x.FormerUntil)
}

// tickTokens ends what of access tokens has had its time: some of it in each Tick.
func (m *Model) tickTokens() {
	for range m.limits.Sweep {
		due := slices.DeleteFunc(slices.Collect(maps.Values(m.Access)), func(x *task.AccessToken) bool {
			return TokenTime(x) == 0 || TokenTime(x) > m.Now
		})
		if len(due) == 0 {
			return
		}
		x := *slices.MinFunc(due, func(a, b *task.AccessToken) int {
			return cmp.Or(cmp.Compare(TokenTime(a), TokenTime(b)), cmp.Compare(a.Number, b.Number))
		})
		if m.struck = true; x.Expires != 0 && x.Expires <= int64(m.Now) {
			m.revokeToken(task.RevokeToken{Name: x.Name})
			continue
		}
		clear(x.Former[:])
		x.FormerUntil = 0
		m.keepToken(&x)
	}
}

// creator is A5: a task is its caller's, and the child of an attempt its parent's creator's.
func (m *Model) creator(c task.Submit) uint64 {
	if parent := m.Tasks[task.Key{Namespace: c.Namespace, ID: c.Parent}]; parent != nil {
		return parent.Creator
	}
	return m.caller
}

// trace is U2: a task has its submit's, and the child of an attempt its own.
func (m *Model) trace(c task.Submit) string {
	if p := m.Tasks[task.Key{Namespace: c.Namespace, ID: c.Parent}]; p != nil {
		return tracing.Attempt(p.Trace, p.Namespace, p.ID, p.Attempt)
	}
	return c.Trace
}

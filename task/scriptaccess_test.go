package task_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/audit"
)

// What scripts say about access tokens. A secret is a letter: its hash is that letter 32 times.
//
//	access NAME secret=S [roles=R,R] [in=PATTERN,…] [of=PATTERN,…] [ttl=MS] [rate=N] [subject=S]
//	rotate NAME secret=S [number=N] [overlap=MS] · revoke NAME [number=N] · root off|on
//	sign-in settings=S [times=N] [rev=N]
//	tokens · opens SECRET... · audit [after=N]
//	refused TOKEN/ROUTE[/NAMESPACE]... [count=N] [from=ADDRESS]
//
// Every command may have by=NUMBER or by=NUMBER/FROM/ROUTE/TARGET: its caller. With look=1 Apply decides whether the caller may.

func secret(s string) []byte {
	return slices.Repeat([]byte(s), 32/max(len(s), 1))
}

// caller reads who asks for a command.
func (a *args) caller() (c task.Caller) {
	by := a.text("by", "")
	if by == "" {
		return c
	}
	parts := append(strings.SplitN(by, "/", 4), "", "", "")
	if _, err := fmt.Sscan(parts[0], &c.Token); err != nil {
		a.err = err
	}
	c.From, c.Route, c.Target = parts[1], parts[2], parts[3]
	c.Look = a.number("look", 0) == 1
	return c
}

func (s *script) accessCommand(a *args) task.Command {
	switch a.verb {
	case "access":
		c := task.CreateToken{
			Name: a.word(0), Hash: secret(a.text("secret", "")), TTL: task.Millis(a.number("ttl", 0)), Rate: a.number("rate", 0), Subject: a.text("subject", ""),
			Namespaces: strings.FieldsFunc(a.text("in", "*"), isComma), Behaviors: strings.FieldsFunc(a.text("of", "*"), isComma),
		}
		for _, name := range strings.FieldsFunc(a.text("roles", "read"), isComma) {
			role, ok := access.Role(name)
			if !ok {
				role = access.All + 1
			}
			c.Roles |= uint64(role)
		}
		return c
	case "rotate":
		return task.RotateToken{Name: a.word(0), Number: uint64(a.number("number", 0)), Hash: secret(a.text("secret", "")), Overlap: task.Millis(a.number("overlap", 0))}
	case "revoke":
		return task.RevokeToken{Name: a.word(0), Number: uint64(a.number("number", 0))}
	case "refused":
		c := task.NoteRefusals{}
		for _, w := range a.words {
			parts := append(strings.Split(w, "/"), "", "")
			x := task.Refusal{From: a.text("from", ""), Route: parts[1], Namespace: parts[2], Count: a.number("count", 1)}
			fmt.Sscan(parts[0], &x.Token)
			c.Refusals = append(c.Refusals, x)
		}
		return c
	case "root":
		return task.SetRoot{Off: a.word(0) == "off"}
	case "sign-in":
		return task.SetSignIn{Settings: strings.Repeat(a.text("settings", ""), int(a.number("times", 1))), Rev: uint64(a.number("rev", 0))}
	}
	return nil
}

func isComma(r rune) bool { return r == ',' }

// lookAtAccess runs the lines that only read.
func (s *script) lookAtAccess(a *args) bool {
	tokens := s.m.Access()
	switch a.verb {
	case "tokens":
		for x := range tokens.After("") {
			fmt.Fprintln(&s.out, formatAccess(x))
		}
		fmt.Fprintf(&s.out, "rev=%d off=%t\n", tokens.Rev(), tokens.RootOff())
		if settings, rev := tokens.SignIn(); rev != 0 {
			fmt.Fprintf(&s.out, "sign-in %s rev=%d\n", settings, rev)
		}
	case "audit":
		for x := range s.m.Audit().After(uint64(a.number("after", 0))) {
			fmt.Fprintln(&s.out, formatAudit(&x))
		}
		fmt.Fprintf(&s.out, "last=%d lost=%d\n", s.m.Audit().Last(), s.m.Audit().Lost())
	case "opens":
		for _, w := range a.words {
			name := "nothing"
			if x := tokens.Hashed(access.Hash(secret(w))); x != nil {
				name = x.Name
			}
			fmt.Fprintf(&s.out, "%s opens %s\n", w, name)
		}
	default:
		return false
	}
	return true
}

func formatAudit(x *audit.Record) string {
	var f fields
	f.add("token", x.Token)
	f.add("name", x.Name)
	f.add("from", x.From)
	f.add("target", x.Target)
	f.add("in", x.Namespace())
	f.add("code", x.Code)
	f.add("count", x.Count)
	return fmt.Sprintf("%d: index=%d at=%d %s %s", x.Number, x.Index, x.At, x.Route, f.b.String())
}

func formatAccess(x *access.Token) string {
	var f fields
	f.add("roles", x.Grant.Roles.String())
	f.add("in", strings.Join(x.Grant.Namespaces, ","))
	f.add("of", strings.Join(x.Grant.Behaviors, ","))
	f.add("secret", string(x.Hash[:1]))
	if (x.Former != access.Hash{}) {
		f.add("former", string(x.Former[:1]))
	}
	f.add("until", x.FormerUntil)
	f.add("expires", x.Expires)
	f.add("rotated", x.RotatedAt)
	f.add("by", x.CreatedBy)
	f.add("creator", x.Creator)
	f.add("rate", x.Rate)
	f.add("subject", x.Subject)
	return fmt.Sprintf("%s %d: created=%d rev=%d %s", x.Name, x.Number, x.CreatedAt, x.Rev, f.b.String())
}

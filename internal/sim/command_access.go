package sim

import (
	"cmp"
	"crypto/sha256"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// caller finds the access token that a command names by its name, as it is after the last entry.
func (s *symbols) caller(o Op) (c task.Caller) {
	switch o.By {
	case "":
		return c
	case "root":
		c.Token = 1 // the root token
	default:
		c.Token = 1000 // nobody's
		if s.last != nil {
			if x := s.last.Access().Named(o.By); x != nil {
				c.Token = x.Number
			}
		}
	}
	c.Look = o.Look
	if o.Route {
		c.From, c.Route, c.Target = "10.0.0.1", "POST /v1/"+o.Verb, strings.Repeat(o.ID, max(o.Long, 1))
	}
	return c
}

// access makes commands about access tokens.
func (s *symbols) access(o Op) task.Command {
	var secret []byte
	if sum := sha256.Sum256([]byte(o.Secret)); o.Secret == "-" {
		secret = sum[:31]
	} else if o.Secret != "" {
		secret = sum[:]
	}
	switch o.Verb {
	case "token":
		c := task.CreateToken{Name: o.Name, Roles: uint64(o.Size), Behaviors: []string{cmp.Or(o.Behavior, "*")}, Hash: secret, TTL: o.Delay, Subject: o.Label}
		if o.Group != "" {
			c.Namespaces = []string{o.Group, "_system"}
		}
		return c
	case "rotate":
		return task.RotateToken{Name: o.Name, Number: o.Hello, Hash: secret, Overlap: o.Delay}
	case "sign-in":
		rev := uint64(0)
		if s.last != nil {
			_, rev = s.last.Access().SignIn()
		}
		return task.SetSignIn{Settings: strings.Repeat(o.Name, max(o.Long, 1)), Rev: rev + uint64(o.Age)<<40}
	case "refusals":
		c := task.NoteRefusals{}
		for _, p := range o.Parts {
			c.Refusals = append(c.Refusals, task.Refusal{Token: p.Hello, From: "10.0.0.2", Route: "GET /v1/" + p.Name, Namespace: p.NS, Count: p.Size})
		}
		return c
	case "revoke":
		return task.RevokeToken{Name: o.Name, Number: o.Hello}
	}
	return task.SetRoot{Off: o.On}
}

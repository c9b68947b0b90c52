// Package access says what a caller may do (SPEC A5): it has roles, and the namespaces and behaviors for which a caller holds them. It also
// keeps the access tokens (SPEC A4). Like package task it is pure.
package access

import (
	"fmt"
	"slices"
	"strings"
)

// Roles is a set of roles. No role contains another one.
type Roles uint16

// The roles (SPEC A5). Their bits stand in the log: never reuse one.
const (
	Read    Roles = 1 << iota // tasks, results, logs
	Submit                    // create tasks, start operations; read, cancel and remove what one created
	Work                      // accept, heartbeat, finish
	Deploy                    // modules and behaviors
	Operate                   // cancel, retry, rerun, remove what others made; pause, operations, maintenance
	Admin                     // namespaces, tokens, members, backup, settings

	// All is every role.
	All = Read | Submit | Work | Deploy | Operate | Admin
)

// names returns the names of the roles, in the order of their bits.
func names() [6]string { return [...]string{"read", "submit", "work", "deploy", "operate", "admin"} }

// Names lists the roles of the set, in the order in which they are defined.
func (r Roles) Names() []string {
	var list []string
	for i, name := range names() {
		if r&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String returns the names, with commas between them.
func (r Roles) String() string { return strings.Join(r.Names(), ",") }

// Role returns the role of a name.
func Role(name string) (Roles, bool) {
	all := names()
	i := slices.Index(all[:], name)
	return 1 << max(i, 0), i >= 0
}

// Lack says in words which role is lacking, or which of several, and for what.
func Lack(roles Roles, where string) string {
	one := "the role "
	if len(roles.Names()) > 1 {
		one = "one of the roles "
	}
	return "this needs " + one + roles.String() + where
}

// ForBehavior says in words that a role is needed for a behavior of a namespace.
func ForBehavior(behavior, namespace string) string {
	return fmt.Sprintf(" for behavior %.130s in namespace %s", behavior, namespace)
}

// Limits of a Grant.
const (
	MaxPatterns = 64  // of namespaces, and of behaviors
	MaxPattern  = 128 // characters
)

// Grant gives roles for namespaces and behaviors. A pattern is a name, or the beginning of names and a "*" after it. Values are immutable.
type Grant struct {
	Roles      Roles    `cbor:"1,keyasint"`
	Namespaces []string `cbor:"2,keyasint,omitempty"` // patterns; none: no namespace
	Behaviors  []string `cbor:"3,keyasint,omitempty"` // patterns; none: no behavior
}

// Everything is the grant of the root token.
func Everything() Grant { return Grant{All, []string{"*"}, []string{"*"}} }

// Match reports whether a pattern is for the name.
func Match(pattern, name string) bool {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, begin)
	}
	return pattern == name
}

// anyOf reports whether one of the patterns is for the name.
func anyOf(patterns []string, name string) bool {
	for _, p := range patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}

// Allows reports whether g gives one of the roles for a behavior in a namespace.
func (g *Grant) Allows(roles Roles, namespace, behavior string) bool {
	return g.Roles&roles != 0 && anyOf(g.Namespaces, namespace) && anyOf(g.Behaviors, behavior)
}

// In reports whether g gives one of the roles in a namespace, for all behaviors or only for some.
func (g *Grant) In(roles Roles, namespace string) bool {
	return g.Roles&roles != 0 && anyOf(g.Namespaces, namespace)
}

// Whole reports whether g gives one of the roles for every behavior of a namespace.
func (g *Grant) Whole(roles Roles, namespace string) bool {
	return g.In(roles, namespace) && slices.Contains(g.Behaviors, "*")
}

// Everywhere reports whether g gives one of the roles for every behavior of every namespace.
func (g *Grant) Everywhere(roles Roles) bool {
	return g.Roles&roles != 0 && slices.Contains(g.Namespaces, "*") && slices.Contains(g.Behaviors, "*")
}

// Covers reports whether g gives all that o gives.
func (g *Grant) Covers(o *Grant) bool {
	return g.Roles&o.Roles == o.Roles && covers(g.Namespaces, o.Namespaces) && covers(g.Behaviors, o.Behaviors)
}

// covers reports whether each narrow pattern stands only for names for which a wide pattern stands, too. Each pair is looked at by itself: names have
// so many endings that a pattern with "*" is never covered by several others together.
func covers(wide, narrow []string) bool {
	for _, n := range narrow {
		begin, open := strings.CutSuffix(n, "*")
		if !slices.ContainsFunc(wide, func(w string) bool {
			if open && !strings.HasSuffix(w, "*") {
				return false
			}
			return Match(w, begin)
		}) {
			return false
		}
	}
	return true
}

// Check says what is wrong with g: the field, and why. It returns "" for both if nothing is.
func (g *Grant) Check() (field, why string) {
	switch {
	case g.Roles == 0:
		return "roles", "needs at least one role"
	case g.Roles&^All != 0:
		return "roles", "has a role that this cluster does not know"
	}
	if why := checkPatterns(g.Namespaces); why != "" {
		return "namespaces", why
	}
	if why := checkPatterns(g.Behaviors); why != "" {
		return "behaviors", why
	}
	return "", ""
}

func checkPatterns(patterns []string) string {
	if len(patterns) == 0 || len(patterns) > MaxPatterns {
		return "must have 1 to 64 patterns"
	}
	for _, p := range patterns {
		name, _ := strings.CutSuffix(p, "*")
		if len(p) == 0 || len(p) > MaxPattern || !isWord(name) {
			return "must have patterns of 1 to 128 characters of [a-z0-9._-], with a * at the end or none"
		}
	}
	return ""
}

// isWord reports whether a text has only characters of names.
func isWord(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	})
}

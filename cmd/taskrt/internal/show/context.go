package show

import (
	"strings"

	"github.com/taskrt/taskrt/internal/terminal"
)

// ContextView is a context of the command line as it is shown: without the token.
type ContextView struct {
	Name      string   `json:"name"`
	Current   bool     `json:"current"`
	Servers   []string `json:"servers"`
	CA        string   `json:"ca,omitempty"`
	HasToken  bool     `json:"has_token"`
	Namespace string   `json:"namespace,omitempty"`
	Cluster   string   `json:"cluster,omitempty"`
}

// Contexts lists contexts, and marks the current one.
func Contexts(w *terminal.Table, all []ContextView) {
	List(w, all, true, []Column[ContextView]{
		{Name: "CURRENT", Cell: func(c ContextView) any {
			if c.Current {
				return "*"
			}
			return ""
		}},
		{Name: "NAME", Cell: func(c ContextView) any { return c.Name }},
		{Name: "SERVERS", Cell: func(c ContextView) any { return list(c.Servers) }},
		{Name: "CA", Cell: func(c ContextView) any { return caWord(c.CA) }},
		{Name: "TOKEN", Cell: func(c ContextView) any { return yes(c.HasToken) }},
		{Name: "NAMESPACE", Cell: func(c ContextView) any { return OrDash(c.Namespace) }},
		{Name: "CLUSTER", Cell: func(c ContextView) any { return OrDash(c.Cluster) }},
	})
}

// Context shows a context.
func Context(w *terminal.Table, c *ContextView) {
	w.Field("name", c.Name)
	w.Field("current", yes(c.Current))
	for _, s := range c.Servers {
		w.Field("server", s)
	}
	w.Field("ca", OrDash(c.CA))
	w.Field("token", yes(c.HasToken))
	w.Field("namespace", OrDash(c.Namespace))
	w.Field("cluster", OrDash(c.Cluster))
}

// caWord is whom a context trusts, in a word: the beginning of the first fingerprint, and how many there are beside it.
func caWord(ca string) string {
	const shown = len("sha256:") + 12
	switch pins := strings.Split(ca, ","); {
	case ca == "":
		return "system"
	case !strings.HasPrefix(ca, "sha256:"):
		return "certificates"
	case len(pins) > 1:
		return terminal.Clip(pins[0], shown) + " and the former one"
	default:
		return terminal.Clip(pins[0], shown)
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

package show

import (
	"time"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Issuers lists issuers, with a line for each rule.
func Issuers(w *terminal.Table, all []auth.Issuer) {
	w.Row("ISSUER", "URL", "CLIENT", "SESSION", "CLAIM", "ROLES", "NAMESPACES", "BEHAVIORS")
	for _, i := range all {
		name, url, client, session := i.Name, i.URL, i.ClientID, time.Duration(i.Session).String()
		for _, r := range i.Rules {
			w.Row(name, url, client, session, r.Claim+"="+r.Value, list(r.Roles), orAll(r.Namespaces), orAll(r.Behaviors))
			name, url, client, session = "", "", "", ""
		}
	}
}

// orAll is a list of patterns; none stands for all names.
func orAll(all []string) string {
	if all == nil {
		return "*"
	}
	return list(all)
}

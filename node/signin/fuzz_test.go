package signin

import (
	"encoding/base64"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// FuzzChoose: what is read of a token before it is verified chooses an issuer of the cluster, or is refused with a reason. No token chooses the
// issuer of another client (SPEC A7).
func FuzzChoose(f *testing.F) {
	claims := func(text string) string { return "e30." + base64.RawURLEncoding.EncodeToString([]byte(text)) + ".c2ln" }
	f.Add(claims(`{"iss":"https://id.example","aud":"taskrt"}`), "")
	f.Add(claims(`{"iss":"https://id.example","aud":["a","taskrt"]}`), "")
	f.Add(claims(`{"iss":"https://id.example","aud":"other"}`), "")
	f.Add(claims(`{"aud":{"a":[[[[]]]]}}`), "")
	f.Add("a.b.c", "corp")
	f.Add("..", "nobody")
	all := []auth.Issuer{{Name: "corp", URL: "https://id.example", ClientID: "taskrt"}, {Name: "other", URL: "https://other.example", ClientID: "x"}}
	f.Fuzz(func(t *testing.T, token, issuer string) {
		chosen, err := choose(all, &auth.SignInRequest{Token: token, Issuer: issuer})
		switch {
		case err != nil && (api.CodeOf(err) == "" || api.CodeOf(err) == api.CodeInternal):
			t.Errorf("%q: %v", token, err)
		case err == nil && issuer != "" && chosen.Name != issuer:
			t.Errorf("%s was asked for, %s is chosen", issuer, chosen.Name)
		case err == nil && chosen != &all[0] && chosen != &all[1]:
			t.Errorf("%+v is no issuer of the cluster", chosen)
		}
	})
}

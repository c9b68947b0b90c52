package apitest_test

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// desk is a SignIn that knows one issuer, with every field.
type desk struct{}

var corp = auth.Issuer{
	Name: "corp", URL: "https://id.example", ClientID: "taskrt", Session: api.Duration(time.Hour),
	Rules: []auth.IssuerRule{{Claim: "groups", Value: "ops*", Roles: []string{"operate"}, Namespaces: []string{"team-*"}, Behaviors: []string{"*"}}},
}

func (desk) Issuers(context.Context) (*auth.IssuersReply, error) {
	return &auth.IssuersReply{Issuers: []auth.Issuer{corp}}, nil
}

func (desk) PutIssuer(_ context.Context, i auth.Issuer) (*auth.Issuer, error) { return &i, i.Check() }

func (desk) RemoveIssuer(_ context.Context, name string) error {
	if name != corp.Name {
		return api.NewError(api.CodeIssuerNotFound, "no issuer %s", name)
	}
	return nil
}

func (desk) Places(context.Context) (*auth.PlacesReply, error) {
	return &auth.PlacesReply{Places: []auth.Place{{Name: corp.Name, URL: corp.URL, ClientID: corp.ClientID}}}, nil
}

func (desk) SignIn(_ context.Context, r auth.SignInRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Token != "good" {
		return nil, api.NewError(api.CodeSignInRefused, "the token does not hold")
	}
	return &auth.CreatedToken{
		Token:      auth.Token{Name: "session-1", Subject: "corp/ann", Roles: []string{"read"}, Namespaces: []string{"*"}, Behaviors: []string{"*"}, Rev: 1},
		Credential: "trt_1",
	}, nil
}

func (desk) SignOut(context.Context) error { return nil }

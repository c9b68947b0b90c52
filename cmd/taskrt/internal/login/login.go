// Package login signs people in at an issuer of OpenID Connect (SPEC A7).
package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/taskrt/taskrt/api/auth"
)

// askTime bounds one question to an issuer.
const askTime = 15 * time.Second

// Device signs somebody in by the device flow (RFC 8628): show is told where to go and which code to type there, and then Device waits until that
// is done. It returns the ID token. scopes are asked for besides openid.
func Device(ctx context.Context, at auth.Place, scopes []string, show func(url, code string)) (string, error) {
	ctx = oidc.ClientContext(ctx, &http.Client{Timeout: askTime})
	issuer, err := oidc.NewProvider(ctx, at.URL)
	if err != nil {
		return "", fmt.Errorf("issuer %s: %w", at.Name, err)
	}
	config := oauth2.Config{ClientID: at.ClientID, Endpoint: issuer.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, scopes...)}
	if config.Endpoint.DeviceAuthURL == "" {
		return "", fmt.Errorf("issuer %s offers no device flow: sign in with --jwt", at.Name)
	}
	code, err := config.DeviceAuth(ctx)
	if err != nil {
		return "", fmt.Errorf("issuer %s: %w", at.Name, err)
	}
	url := code.VerificationURIComplete
	if url == "" {
		url = code.VerificationURI
	}
	show(url, code.UserCode)
	token, err := config.DeviceAccessToken(ctx, code)
	if err != nil {
		return "", fmt.Errorf("issuer %s: %w", at.Name, err)
	}
	id, _ := token.Extra("id_token").(string)
	if id == "" {
		return "", fmt.Errorf("issuer %s gave no ID token", at.Name)
	}
	return id, nil
}

// Choose returns the place that is meant; "": the only one.
func Choose(all []auth.Place, name string) (auth.Place, error) {
	var names []string
	for _, p := range all {
		if p.Name == name || name == "" && len(all) == 1 {
			return p, nil
		}
		names = append(names, p.Name)
	}
	switch {
	case len(all) == 0:
		return auth.Place{}, errors.New("nobody signs in to this cluster: an admin says who vouches, by taskrt oidc set")
	case name == "":
		return auth.Place{}, fmt.Errorf("say where by --issuer: %s", strings.Join(names, ", "))
	}
	return auth.Place{}, fmt.Errorf("there is no issuer %s; there are: %s", name, strings.Join(names, ", "))
}

// ParseRule reads a rule as people write it: CLAIM=VALUE ROLES [NAMESPACES [BEHAVIORS]], where the lists have commas.
func ParseRule(text string) (r auth.IssuerRule, err error) {
	fields := strings.Fields(text)
	if len(fields) < 2 || len(fields) > 4 {
		return r, fmt.Errorf("%q is not CLAIM=VALUE ROLES [NAMESPACES [BEHAVIORS]]", text)
	}
	var ok bool
	if r.Claim, r.Value, ok = strings.Cut(fields[0], "="); !ok || r.Claim == "" || r.Value == "" {
		return r, fmt.Errorf("%q is not CLAIM=VALUE", fields[0])
	}
	r.Roles = strings.Split(fields[1], ",")
	if len(fields) > 2 {
		r.Namespaces = strings.Split(fields[2], ",")
	}
	if len(fields) > 3 {
		r.Behaviors = strings.Split(fields[3], ",")
	}
	return r, nil
}

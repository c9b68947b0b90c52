package signin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
)

// Bounds of what browsers that sign in make a node ask an issuer: each asks again every few seconds.
const (
	deviceEvery   = 200 * time.Millisecond
	deviceBurst   = 20
	deviceWait    = 5 * time.Second // between two questions, where the issuer says nothing (RFC 8628, 3.2)
	maxDeviceWait = time.Minute
	maxDeviceLife = 3600    // seconds
	maxDeviceText = 1 << 10 // bytes of a URL or a code
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// helpful are scopes that bring claims for rules. Of these, an issuer is asked for the scopes that it has.
var helpful = []string{"profile", "email", "groups", "roles"}

var _ auth.Devices = (*Desk)(nil)

// place returns an issuer by its name, as this node knows it. It is verified later that no change has replaced it (SignIn).
func (d *Desk) place(name string) (*auth.Issuer, error) {
	var all []auth.Issuer
	var err error
	d.log.Local(func(m *task.Machine) { all, _, err = d.settings(m) })
	if err != nil {
		return nil, err
	}
	at, has := slices.BinarySearchFunc(all, name, byName)
	if !has {
		return nil, noIssuer(name)
	}
	return &all[at], nil
}

// BeginDevice implements auth.Devices.
func (d *Desk) BeginDevice(ctx context.Context, issuer string) (*auth.Device, error) {
	i, err := d.place(issuer)
	if err != nil {
		return nil, err
	}
	p := d.provider(i.URL)
	found, err := p.discover(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	var says struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, away(i.URL, err)
	}
	endpoint := found.Endpoint().DeviceAuthURL
	if endpoint == "" {
		return nil, api.NewError(api.CodeSignInRefused, "the issuer %s offers no device flow: sign in by a token", i.Name)
	}
	scopes := []string{oidc.ScopeOpenID}
	for _, s := range helpful {
		if slices.Contains(says.Scopes, s) {
			scopes = append(scopes, s)
		}
	}
	var answer begun
	if err := p.post(ctx, endpoint, url.Values{"client_id": {i.ClientID}, "scope": {strings.Join(scopes, " ")}}, &answer); err != nil {
		return nil, notAsked(i.URL, err)
	}
	if answer.Error != "" {
		return nil, api.NewError(api.CodeSignInRefused, "the issuer %s: %.200s", i.Name, answer.text())
	}
	device, ok := answer.device()
	if !ok {
		return nil, away(i.URL, errors.New("it gave no code that a browser can use"))
	}
	return device, nil
}

// begun is an issuer's answer to who begins (RFC 8628, 3.2).
type begun struct {
	Device string `json:"device_code"`
	Code   string `json:"user_code"`
	URL    string `json:"verification_uri"`
	Whole  string `json:"verification_uri_complete"` // has the code
	Every  int64  `json:"interval"`
	Until  int64  `json:"expires_in"`
	deviceError
}

func (b *begun) device() (*auth.Device, bool) {
	at := cmp.Or(b.Whole, b.URL)
	if !isPage(at) || b.Code == "" || b.Device == "" || max(len(at), len(b.Code)) > maxDeviceText || len(b.Device) > auth.MaxDevice || b.Until <= 0 {
		return nil, false
	}
	every := min(max(b.Every, int64(deviceWait/time.Second)), int64(maxDeviceWait/time.Second))
	return &auth.Device{URL: at, Code: b.Code, Device: b.Device, EveryMS: every * 1000, UntilMS: min(b.Until, maxDeviceLife) * 1000}, true
}

// FinishDevice implements auth.Devices.
func (d *Desk) FinishDevice(ctx context.Context, issuer, device string) (*auth.CreatedToken, error) {
	i, err := d.place(issuer)
	if err != nil {
		return nil, err
	}
	if device == "" || len(device) > auth.MaxDevice {
		return nil, refused("it is no code of a device")
	}
	p := d.provider(i.URL)
	found, err := p.discover(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Token string `json:"id_token"`
		deviceError
	}
	if err := p.post(ctx, found.Endpoint().TokenURL, url.Values{"grant_type": {deviceGrant}, "client_id": {i.ClientID}, "device_code": {device}}, &answer); err != nil {
		return nil, notAsked(i.URL, err)
	}
	switch answer.Error {
	case "":
		return d.SignIn(ctx, auth.SignInRequest{Issuer: i.Name, Token: answer.Token})
	case "slow_down":
		return nil, soon("the issuer %s asks to be asked less often", i.Name)
	case "authorization_pending":
		return nil, nil //nolint:nilnil // nobody has confirmed the code so far
	}
	return nil, refused(answer.text())
}

// notAsked says why an issuer could not be asked.
func notAsked(url string, err error) error {
	if errors.Is(err, errTooOften) {
		return soon("too many browsers sign in at %.200s just now", url)
	}
	return away(url, err)
}

// soon refuses what may be asked again.
func soon(format string, args ...any) error {
	e := api.NewError(api.CodeRateLimited, format, args...)
	e.RetryMS = deviceWait.Milliseconds()
	return e
}

// isPage reports whether a browser may be led to an address: it is no script.
func isPage(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// deviceError is why an issuer refuses (RFC 6749, 5.2).
type deviceError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func (e *deviceError) text() string {
	if e.Description != "" {
		return e.Error + ": " + e.Description
	}
	return e.Error
}

// post sends a form to an endpoint of the issuer, and reads its answer, which may be a refusal.
func (p *provider) post(ctx context.Context, endpoint string, form url.Values, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	res, err := p.asker.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK && (res.StatusCode < 400 || res.StatusCode >= 500):
		return fmt.Errorf("it answers %s", res.Status)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("it answers %s without JSON", res.Status)
	}
	return nil
}

package auth

import "context"

// Devices lets browsers sign in at an issuer of OpenID Connect, by the device flow (RFC 8628): a page cannot ask an issuer itself. Nothing of it is
// kept between two calls, so any node takes any of them. A *signin.Desk is one (SPEC A7).
type Devices interface {
	// BeginDevice asks an issuer for a code.
	BeginDevice(ctx context.Context, issuer string) (*Device, error)
	// FinishDevice begins a session when somebody has confirmed the code; nil without an error: nobody has so far.
	FinishDevice(ctx context.Context, issuer, device string) (*CreatedToken, error)
}

// Device is a sign-in that has begun.
type Device struct {
	URL     string `json:"url"`      // where somebody confirms the code
	Code    string `json:"code"`     // that this person sees there
	Device  string `json:"device"`   // by which the one who began goes on: a secret
	EveryMS int64  `json:"every_ms"` // how long to wait before each FinishDevice
	UntilMS int64  `json:"until_ms"` // how long the code is good
}

// MaxDevice bounds Device.Device, in bytes.
const MaxDevice = 4 << 10

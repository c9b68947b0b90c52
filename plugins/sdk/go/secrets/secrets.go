// Package secrets reads secrets that the operator grants to a behavior (docs/capabilities.md). A module that imports it requires
// the capability: its manifest says so by itself, and an upload is refused where nothing is granted.
package secrets

import (
	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
)

func init() { sdk.Require(abi.CapabilitySecrets) }

// usual is a size that is enough for most secrets.
const usual = 1 << 10

// Get returns a secret, at most 64 KiB. Within an attempt a secret does not change. Call Get while a behavior runs, not in init.
// errors.Is finds these errors:
//
//   - sdk.ErrDenied: the operator does not grant this secret to this behavior, whether the secret exists or not
//   - sdk.ErrNotFound: it is granted, but not there
//   - sdk.ErrUnavailable: it cannot be read now; try again
//   - sdk.ErrInvalid: this cannot be the name of a secret
//
// A name is 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first.
func Get(name string) ([]byte, error) {
	to := make([]byte, usual)
	n := get(name, to)
	if int(n) > len(to) {
		to = make([]byte, n)
		n = get(name, to)
	}
	if n < 0 {
		return nil, &failure{name, abi.Errno(n)}
	}
	return to[:n], nil
}

// failure says which secret could not be read.
type failure struct {
	name   string
	status abi.Errno
}

func (f *failure) Error() string {
	why := f.Unwrap().Error()
	switch f.status {
	case abi.EDENIED:
		why = "not granted to this behavior"
	case abi.EINVAL:
		why = "a name is 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first"
	}
	return "secret " + f.name + ": " + why
}

func (f *failure) Unwrap() error { return host.Installed.Error(f.status) }

package secrets_test

import (
	"errors"
	"fmt"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/secrets"
)

// exampleT stands for the *testing.T that a test is given.
type exampleT struct{}

func (exampleT) Helper()                           {}
func (exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A behavior that fails for good where nobody has granted it the secret.
func ExampleGet() {
	sdk.Register(sdk.Behavior{Name: "mail", Run: func(c *sdk.Context) error { // in a plugin: in init
		password, err := secrets.Get("mail-password")
		if errors.Is(err, sdk.ErrDenied) {
			return sdk.Fail("not_granted", err.Error())
		}
		if err != nil {
			return err // retried
		}
		c.Log(sdk.LevelInfo, fmt.Sprintf("a password of %d bytes", len(password)))
		return nil
	}})

	t := exampleT{} // of a test: t *testing.T
	h := &sdktest.Host{Secrets: map[string][]byte{"mail-password": []byte("correct-horse")}}
	sdktest.Run(t, "mail", h)
	fmt.Println(h.Logs[0].Message)
	fmt.Println(sdktest.Run(t, "mail", &sdktest.Host{}).Code)
	// Output:
	// a password of 13 bytes
	// not_granted
}

package sdkhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// exampleT stands for the *testing.T that a test is given.
type exampleT struct{}

func (exampleT) Helper()                           {}
func (exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A behavior that posts its params. An attempt may happen more than once: the task's ID tells the other side that it is the same
// request.
func ExampleDo() {
	sdk.Register(sdk.Behavior{Name: "post", Run: func(c *sdk.Context) error { // in a plugin: in init
		r, err := sdkhttp.Do(sdkhttp.Request{
			Method: "POST", URL: "https://api.example.com/v1/mail", Body: c.Params(),
			Headers: map[string]string{"Content-Type": "application/json", "Idempotency-Key": c.Info().ID},
		})
		switch {
		case errors.Is(err, sdk.ErrDenied), errors.Is(err, sdk.ErrInvalid), errors.Is(err, sdk.ErrTooLarge):
			return sdk.Permanent(err)
		case err != nil:
			return err // retried
		case r.Status >= 500:
			return sdk.Retryable("unavailable", fmt.Sprintf("status %d", r.Status))
		case r.Status >= 300:
			return sdk.Fail("refused", fmt.Sprintf("status %d: %.200s", r.Status, r.Body))
		}
		return nil
	}})

	t := exampleT{} // of a test: t *testing.T
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s of %s: %s\n", r.Method, r.URL, r.Header.Get("Idempotency-Key"), text)
		if r.URL.Path != "/v1/mail" {
			http.NotFound(w, r)
		}
	})
	fmt.Println(sdktest.Run(t, "post", &sdktest.Host{Params: []byte(`{"to":"ada"}`), HTTP: api}).Message)
	fmt.Println(sdktest.Run(t, "post", &sdktest.Host{}).Message)
	// Output:
	// POST https://api.example.com/v1/mail of test-task: {"to":"ada"}
	//
	// http: not allowed: sdktest.Host.HTTP is nil
}

// Guest gets the page that its params name by net/http, and answers with where it was in the end, the status and the body.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp/transport"
)

func init() {
	sdk.Register(sdk.Behavior{Name: "get", Run: func(c *sdk.Context) error {
		client := &http.Client{Transport: transport.New(), Timeout: time.Minute}
		r, err := client.Get(string(c.Params()))
		if errors.Is(err, sdk.ErrDenied) {
			return sdk.Fail("denied", err.Error())
		}
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		c.SetResult(fmt.Appendf(nil, "%s %d %s", r.Request.URL, r.StatusCode, text))
		return nil
	}})
}

func main() {}

// Guest posts its params to https://api.example.com/, and answers with the response's status, a header and the body.
package main

import (
	"strconv"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp"
)

func init() {
	sdk.Register(sdk.Behavior{Name: "post", Run: func(c *sdk.Context) error {
		r, err := sdkhttp.Do(sdkhttp.Request{
			Method: "POST", URL: "https://api.example.com/", Headers: map[string]string{"X-Mine": "ü"}, Body: c.Params(),
		})
		if err != nil {
			return err
		}
		c.SetResult([]byte(strconv.Itoa(r.Status) + " " + r.Header("X-Theirs") + " " + string(r.Body)))
		return nil
	}})
}

func main() {}

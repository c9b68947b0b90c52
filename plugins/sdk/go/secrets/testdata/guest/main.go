// Guest answers with the secret that its params name.
package main

import (
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/secrets"
)

func init() {
	sdk.Register(sdk.Behavior{Name: "secret", Run: func(c *sdk.Context) error {
		value, err := secrets.Get(string(c.Params()))
		c.SetResult(value)
		return err
	}})
}

func main() {}

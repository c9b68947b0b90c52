// Package taskrt says which version of taskrt this tree is. The command is in cmd/taskrt, the Go client in api/client, the SDKs for plugins in
// plugins/sdk.
package taskrt

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var version string

// Version is the version of this tree, by the rules of semantic versioning and without a "v": 0.1.0. Between two releases it is the next one
// with "-dev" behind it.
var Version = strings.TrimSpace(version)

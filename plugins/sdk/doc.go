// Package sdk holds the SDKs of languages whose package registries do not have them: `taskrt new` copies them into a new
// plugin. Each has a directory, and a Go file of the language's name that embeds it. The Go SDK is package
// github.com/taskrt/taskrt/plugins/sdk/go.
package sdk

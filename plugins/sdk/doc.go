// Package sdk holds the SDKs of languages whose package registries do not have the SDK: `taskrt new` copies it into a new
// plugin. Each SDK has a directory, and a Go file of the language's name that embeds the directory. The Go SDK is package
// github.com/taskrt/taskrt/plugins/sdk/go.
package sdk

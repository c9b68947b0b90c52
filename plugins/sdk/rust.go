package sdk

import (
	"embed"
	"io/fs"
)

// What a plugin needs to build: not the SDK's own tests, nor what cargo made here.
//
//go:embed rust/.gitignore rust/Cargo.toml rust/README.md rust/src
var rust embed.FS

// Rust returns the crate taskrt.
func Rust() fs.FS {
	crate, err := fs.Sub(rust, "rust")
	if err != nil {
		panic(err) // "rust" is no path
	}
	return crate
}

package sdk

import (
	"embed"
	"io/fs"
)

// rust holds the files that a plugin needs to build, without the SDK's own tests and without what cargo made here.
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

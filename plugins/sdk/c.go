package sdk

import (
	"embed"
	"io/fs"
)

//go:embed c/taskrt.h c/README.md
var c embed.FS

// C returns the directory of taskrt.h.
func C() fs.FS {
	dir, err := fs.Sub(c, "c")
	if err != nil {
		panic(err) // "c" is no path
	}
	return dir
}

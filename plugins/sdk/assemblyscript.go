package sdk

import (
	"embed"
	"io/fs"
)

// assemblyScript holds the files that a plugin needs to build, without the SDK's own tests and without what npm made here.
//
//go:embed assemblyscript/.gitignore assemblyscript/README.md assemblyscript/asconfig.json assemblyscript/assembly
//go:embed assemblyscript/index.ts assemblyscript/package.json assemblyscript/package-lock.json
var assemblyScript embed.FS

// AssemblyScript returns the package @taskrt/sdk.
func AssemblyScript() fs.FS {
	pkg, err := fs.Sub(assemblyScript, "assemblyscript")
	if err != nil {
		panic(err) // "assemblyscript" is no path
	}
	return pkg
}

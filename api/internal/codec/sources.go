package codec

import "embed"

// Sources are the files of this package with the types that travel; see api.Sources.
//
//go:embed wire*.go
var Sources embed.FS

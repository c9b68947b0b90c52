package codec

import "embed"

// Sources are the files whose types travel; see api.Sources.
//
//go:embed wire*.go
var Sources embed.FS

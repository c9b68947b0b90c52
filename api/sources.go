package api

import "embed"

// Sources are the files with the types that travel. The comments of these types are the descriptions in the OpenAPI document,
// so that each thing is said once.
//
//go:embed types*.go error.go
var Sources embed.FS

package api

import "embed"

// Sources are the files whose types travel. Their comments are the descriptions of the OpenAPI document, so that each
// thing is said once.
//
//go:embed types*.go error.go
var Sources embed.FS

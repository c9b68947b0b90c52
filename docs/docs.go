// Package docs is the pages of the documentation, as they are in the repository.
package docs

import "embed"

// Pages are the pages in Markdown. README.md lists them all.
//
//go:embed *.md
var Pages embed.FS

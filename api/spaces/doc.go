// Package spaces turns what the API says of namespaces into commands and records into what the API shows, and runs exports
// and imports (SPEC N1, M5).
package spaces

// Package spaces is what every api.Service that is made of a task.Machine does for namespaces in the same way (SPEC N1,
// M5): it turns what the API says into commands and records into what the API shows, and runs exports and imports.
package spaces

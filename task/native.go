package task

import "strings"

// Native reports whether a version's module is none: a behavior that is built into the nodes themselves. It has no file
// and no record; only workers that say that they are ready for it are assigned its tasks.
func Native(module string) bool { return strings.HasPrefix(module, "native:") }

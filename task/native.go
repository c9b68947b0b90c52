package task

import "strings"

// Native reports whether a version has no module because its behavior is built into the nodes themselves. Such a
// behavior has no file and no record. Only workers that say that they are ready for it are assigned its tasks.
func Native(module string) bool { return strings.HasPrefix(module, "native:") }

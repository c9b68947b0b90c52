// Package policy turns what a manifest says of a behavior into the policy that the log carries, and back into the manifest
// that the API shows (SPEC B1).
package policy

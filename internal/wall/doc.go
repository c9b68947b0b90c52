// Package wall shuts a process in before it executes code of strangers (SPEC A10): no new privileges, no core, no network, no other
// processes, no file but those that a Plan names.
package wall

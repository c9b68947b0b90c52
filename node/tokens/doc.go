// Package tokens joins the replicated tokens to the API of a node: it shows them, tasks and operations to the gate and the guard of package
// access, and it manages them (SPEC A4).
package tokens

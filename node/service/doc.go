// Package service is api.Service in the process of a node: it checks requests, proposes what they ask for, and shows
// what came of it. DESIGN.md says what is known before proposing, and what only the machine decides.
package service

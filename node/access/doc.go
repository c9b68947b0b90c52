// Package access knows who makes a request to a node's API: the Gate knows tokens, bounds guesses, and ends what a token does when the
// token no longer holds (SPEC A4, A9).
package access

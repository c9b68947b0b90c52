// Package memory is the linear memory of guests: what all guests of an engine may have together (Budget), the memory of one
// instance (Memory), and what the memory of a module holds when an attempt begins (Image). It knows pages and bytes, and
// nothing of attempts.
package memory

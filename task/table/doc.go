// Package table keeps what package task has a million of: in tables that the garbage collector need not scan, that are
// frozen without being copied, and that find what comes first without looking at the rest. It is a set of containers,
// and knows nothing of tasks. Like package task it is pure: its answers depend only on what was done to it.
package table

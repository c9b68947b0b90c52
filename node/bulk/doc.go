// Package bulk carries out bulk jobs: one action on all tasks that a filter selects (SPEC Q3). DESIGN.md says how.
package bulk

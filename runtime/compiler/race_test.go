//go:build race

package compiler

func init() { race = true }

//go:build !linux

package mux

func endUnacknowledged(int) {}

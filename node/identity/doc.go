// Package identity computes what a task is known by from its params: the canonical text that a deterministic ID is made of
// (SPEC I2), and the key that limits runs (SPEC L11). Whatever could mean two things is refused, rather than guessed.
package identity

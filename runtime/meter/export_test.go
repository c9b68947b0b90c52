package meter

// RewriteWithin refuses what takes more than a part of the limits of effort.
func RewriteWithin(wasm []byte, part int64) (effort int64, err error) {
	m, err := rewrite(wasm, tuning{slack: slack, distance: distance, loops: manyLoops, effort: maxEffort / part})
	if err != nil {
		return 0, err
	}
	return m.Effort, nil
}

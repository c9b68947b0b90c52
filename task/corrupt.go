package task

// CorruptForTest damages the record of k in memory, as a bad RAM cell would, without telling the digest. It is only for fault injection: the tests of
// digests, here and in a whole cluster (SPEC C4), need a replica that is wrong on purpose. It reports whether there was a record to damage.
func (m *Machine) CorruptForTest(k Key) bool {
	r := m.find(k)
	if r == nil {
		return false
	}
	n := *m.task(r)
	n.Attempt ^= 1 << 40
	m.replaceRow(r, &n)
	return true
}

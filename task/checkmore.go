package task

// more recounts namespaces, operations, instances, blobs and runs.
func (c *checker) more() {
	m := c.m
	c.namespaces()
	c.operations()
	for i, x := range m.instances.sorted {
		c.sum += hashInstance(x)
		c.expect(i == 0 || m.instances.sorted[i-1].name().compare(x.name()) < 0, "O2: order of instances")
		c.expect(x.Last > 0 && x.Rev <= m.rev && m.NamespaceExists(x.Namespace), "O2: instance %v", x.name())
	}
	c.blobs()
	c.maintenance()
}

package task

// more recounts namespaces, operations, instances, blobs and runs.
func (c *checker) more() {
	m := c.m
	c.namespaces()
	c.operations()
	for k, x := range m.instances { // order-free: the sum commutes, and any violation will do
		c.sum += hashInstance(x)
		c.expect(k == instanceName{x.Namespace, x.Behavior, x.Target} && x.Last > 0 && x.Rev <= m.rev && m.NamespaceExists(x.Namespace), "O2: instance %v", k)
	}
	c.blobs()
	c.maintenance()
}

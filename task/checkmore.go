package task

// more recounts namespaces, operations, instances, blobs and runs.
func (c *checker) more() {
	m := c.m
	for name, n := range m.namespaces { // order-free: the sum commutes, and any violation will do
		c.expect(n.space.Name == name, "namespace %s is called %s", name, n.space.Name)
		_, stored := m.store.spaces[name]
		c.expect(stored == (n.space.Status != NamespaceIsPurged), "namespace %s is %s, and has tasks: %v", name, n.space.Status, stored)
		c.sum += hashNamespace(n.space)
	}
	for k, o := range m.operations { // order-free: as above
		c.expect(o.operation.Key() == k, "operation %v is called %v", k, o.operation.Key())
		c.sum += hashOperation(o.operation)
	}
	for _, x := range m.instances { // order-free: as above
		c.sum += hashInstance(x)
	}
	c.blobs()
	for _, r := range m.runs {
		c.sum += hashRun(r)
	}
}

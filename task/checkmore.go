package task

// more recounts namespaces, operations, instances, blobs and runs.
func (c *checker) more() {
	m := c.m
	c.namespaces()
	for k, o := range m.operations { // order-free: as above
		c.expect(o.operation.Key() == k, "operation %v is called %v", k, o.operation.Key())
		c.sum += hashOperation(o.operation)
	}
	for _, x := range m.instances { // order-free: as above
		c.sum += hashInstance(x)
	}
	c.blobs()
	c.maintenance()
}

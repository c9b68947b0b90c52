package lobby

import (
	"container/heap"
	"net"
	"net/netip"
	"slices"
)

// queue holds connections by address. Its first address is the address with the most connections; among equals, the address with the oldest connection.
// Addresses with few connections are equals: an honest client that opens several at once must not lose them before thousands of addresses with one each.
type queue struct {
	few       int
	addresses map[string]*address
	order     order
	total     int
	number    uint64 // of the last connection
}

type address struct {
	name  string
	conns []*conn // by age, the oldest one first

	weight int // how many, but at least few
	at     int // in order
}

func newQueue(few int) *queue { return &queue{few: few, addresses: map[string]*address{}} }

func (q *queue) len() int { return q.total }

func (q *queue) add(c *conn) {
	q.number++
	q.total++
	c.number = q.number
	a := q.addresses[c.from]
	if a == nil {
		a = &address{name: c.from, conns: []*conn{c}, weight: q.few}
		q.addresses[c.from] = a
		heap.Push(&q.order, a)
		return
	}
	a.conns = append(a.conns, c)
	a.weight = max(len(a.conns), q.few)
	heap.Fix(&q.order, a.at)
}

func (q *queue) remove(c *conn) {
	a := q.addresses[c.from]
	i, _ := slices.BinarySearchFunc(a.conns, c.number, func(c *conn, n uint64) int {
		if c.number < n {
			return -1
		}
		return int(min(c.number-n, 1))
	})
	a.conns = slices.Delete(a.conns, i, i+1)
	a.weight = max(len(a.conns), q.few)
	q.total--
	if len(a.conns) > 0 {
		heap.Fix(&q.order, a.at)
		return
	}
	heap.Remove(&q.order, a.at)
	delete(q.addresses, a.name)
}

// worst is the connection that goes first: the oldest of the first address. nil: there is no connection.
func (q *queue) worst() *conn {
	if len(q.order) == 0 {
		return nil
	}
	return q.order[0].conns[0]
}

// order is a heap.
type order []*address

// Len implements heap.Interface.
func (o order) Len() int { return len(o) }

// Less implements heap.Interface.
func (o order) Less(i, j int) bool {
	a, b := o[i], o[j]
	if a.weight != b.weight {
		return a.weight > b.weight
	}
	return len(a.conns) > 0 && (len(b.conns) == 0 || a.conns[0].number < b.conns[0].number)
}

// Swap implements heap.Interface.
func (o order) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

// Push implements heap.Interface.
func (o *order) Push(x any) {
	a := x.(*address)
	a.at = len(*o)
	*o = append(*o, a)
}

// Pop implements heap.Interface.
func (o *order) Pop() any {
	last := len(*o) - 1
	a := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return a
}

// addressOf is whom connections are counted for: an address, or 64 bits of IPv6, which one customer has.
func addressOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		prefix, err := ip.Prefix(64)
		if err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

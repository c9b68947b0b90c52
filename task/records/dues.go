package records

// due is a record that becomes available.
type due struct {
	at int64
	id uint64
}

// dues is a binary min-heap by time. Which of two with the same time comes first does not matter to anybody.
type dues []due

func (d dues) less(i, j int) bool { return d[i].at < d[j].at }

func (d *dues) push(x due) {
	*d = append(*d, x)
	h := *d
	for i := len(h) - 1; i > 0 && h.less(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (d *dues) pop() due {
	h := *d
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*d = h[:last]
	d.down(0)
	return first
}

func (d dues) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(d) {
			return
		}
		if least+1 < len(d) && d.less(least+1, least) {
			least++
		}
		if !d.less(least, i) {
			return
		}
		d[i], d[least] = d[least], d[i]
		i = least
	}
}

// keep drops the elements that f does not want, and the memory that they took.
func (d *dues) keep(f func(id uint64) bool) {
	var kept dues
	for _, x := range *d {
		if f(x.id) {
			kept = append(kept, x)
		}
	}
	*d = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		kept.down(i)
	}
}

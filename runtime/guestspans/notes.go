package guestspans

// Noted is a span as a test sees it.
type Noted struct {
	Name       string
	Attributes []string // KEY=VALUE
	Depth      int      // how many spans lie around it
	Ended      bool     // by the guest
	Why        string   // it failed
}

// Notes are the Spans of one attempt, for a test that looks at them in To.
type Notes struct {
	To   *[]Noted // of all attempts, in the order of their beginning
	open []int    // by their places in To
}

// Begin implements Spans.
func (n *Notes) Begin(s Span) {
	var attributes []string
	for _, x := range s.Attributes {
		attributes = append(attributes, x.Key+"="+x.Value)
	}
	*n.To = append(*n.To, Noted{Name: s.Name, Attributes: attributes, Depth: len(n.open)})
	n.open = append(n.open, len(*n.To)-1)
}

// End implements Spans.
func (n *Notes) End(why string) {
	last := len(n.open) - 1
	s := &(*n.To)[n.open[last]]
	s.Ended, s.Why = true, why
	n.open = n.open[:last]
}

package answers

import "fmt"

// Check recounts everything at an instant, with a form that remembers no hash.
func (t *Table[R]) Check(form Form[R], at int64) error {
	sum := uint64(0)
	check := func(owner uint64, answers []answer[R]) (bytes int64, ok bool) {
		for i, a := range answers {
			hash := form.HashAnswer(owner, a.seq, a.result)
			if hash != a.hash || form.Bytes(a.result) != a.bytes || i > 0 && answers[i-1].seq >= a.seq {
				return 0, false
			}
			sum += hash
			bytes += a.bytes
		}
		return bytes, true
	}
	for id, p := range t.processes { // order-free: it only adds up, and any violation will do
		sum += t.hashProcess(p)
		bytes, ok := check(id, p.answers)
		if !ok || p.id != id || bytes != p.bytes || int64(len(p.answers)) > t.Limit.Answers || len(p.answers) > 0 && p.answers[0].seq < p.lowest {
			return fmt.Errorf("H4: answers of process %d", id)
		}
	}
	all, last := int64(0), int64(0)
	for id, k := range t.keys { // order-free: it only adds up, and any violation will do
		sum += t.hashKey(k)
		bytes, ok := check(t.hashKey(k), k.answers)
		n := t.expiries.At(k.expiry)
		if !ok || k.id != id || k.body == 0 || k.first > at || n == nil || n.Item != k || n.Key != later(k.first, t.Limit.Idle) {
			return fmt.Errorf("H4: answers under key %d, or when it is forgotten", id)
		}
		all += bytes + Overhead*int64(len(k.answers))
		for _, a := range k.answers {
			last = max(last, Overhead+a.bytes)
		}
	}
	switch {
	case int64(len(t.processes)) > t.Limit.Processes || int64(len(t.keys)) > t.Limit.Keys || len(t.keys) != t.expiries.Len():
		return fmt.Errorf("H4: %d processes, %d keys", len(t.processes), len(t.keys))
	case all != t.keyBytes || all >= t.Limit.KeyBytes+last:
		return fmt.Errorf("H4: %d bytes under keys, recounted %d", t.keyBytes, all)
	case sum != t.sum:
		return fmt.Errorf("the sum over the answers is %x, recounted %x", t.sum, sum)
	}
	return t.expiries.Check()
}

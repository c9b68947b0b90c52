package answers

import "github.com/taskrt/taskrt/task/table"

// Key is what is remembered of one key of a client: the answers to the commands of its request, numbered by their place in it. Unlike the answers for
// a process, they wait for no acknowledgement. They go when the key is as old as Limit.Idle says, even if it is used again.
type Key[R any] struct {
	id     uint64
	body   uint64 // hash of the request that used it first
	first  int64  // when this request used it
	expiry table.Pos
	list[R]
}

// Overhead is what an answer without payloads counts in Limit.KeyBytes. A batch under one key has thousands of answers.
const Overhead = 256

// Kept looks for the answer to a command under a key. other reports that the key was used with another request.
func (t *Table[R]) Kept(id, body, seq uint64) (r *R, other bool) {
	k := t.keys[id]
	if k == nil {
		return nil, false
	}
	return k.get(seq), k.body != body
}

// Verdict says whether a command under a key may be applied.
type Verdict uint8

// Full and Begun hold only for now, so they are not remembered.
const (
	Go    Verdict = iota
	Full          // too many keys, or too many bytes under them
	Begun         // it is the rest of a request whose beginning was forgotten meanwhile
)

// Open returns the key under which a new answer is to be kept. The first command of a request makes the key on first use.
func (t *Table[R]) Open(id, body uint64, first bool, at int64) (*Key[R], Verdict) {
	k := t.keys[id]
	switch {
	case k == nil && int64(len(t.keys)) >= t.Limit.Keys, t.keyBytes >= t.Limit.KeyBytes:
		return nil, Full
	case k == nil && !first:
		return nil, Begun
	case k == nil:
		t.AddKey(id, body, at)
		k = t.keys[id]
	}
	return k, Go
}

func (t *Table[R]) hashKey(k *Key[R]) uint64 { return t.form.HashKey(k.id, k.body, k.first) }

// RememberUnder keeps an answer for as long as the key lives, if it still does: a Tick may forget its own key.
func (t *Table[R]) RememberUnder(k *Key[R], seq uint64, r *R) {
	if t.keys[k.id] != k {
		return
	}
	a := t.answer(t.hashKey(k), seq, r)
	t.sum += a.hash
	t.keyBytes += Overhead + a.bytes
	k.insert(a)
}

// AddKey adds a key of a snapshot, and reports whether it was not there.
func (t *Table[R]) AddKey(id, body uint64, first int64) bool {
	if t.keys[id] != nil {
		return false
	}
	k := &Key[R]{id: id, body: body, first: first}
	t.sum += t.hashKey(k)
	t.keys[id] = k
	t.expiries.Push(later(first, t.Limit.Idle), id, &k.expiry, k)
	return true
}

// AddUnder adds an answer of a snapshot under a key. It reports whether the key is there and lacked the answer. Answers come by number.
func (t *Table[R]) AddUnder(id, seq uint64, r *R) bool {
	k := t.keys[id]
	if k == nil || len(k.answers) > 0 && k.last() >= seq {
		return false
	}
	t.RememberUnder(k, seq, r)
	return true
}

// NextExpiry returns when a key is forgotten next; ok is false if there is none.
func (t *Table[R]) NextExpiry() (at int64, ok bool) {
	if n := t.expiries.Head(); n != nil {
		return n.Key, true
	}
	return 0, false
}

// Expire forgets the processes that have been silent for too long at an instant, and the keys that are old enough. Such a process is gone, or has
// nothing left to send again. Expire reports whether there were any.
func (t *Table[R]) Expire(at int64) bool {
	before := len(t.processes) + len(t.keys)
	for _, p := range t.processes { // order-free: each is decided alone, and the sum commutes
		if later(p.used, t.Limit.Idle) <= at {
			t.forget(p)
		}
	}
	for n := t.expiries.Head(); n != nil && n.Key <= at; n = t.expiries.Head() {
		t.forgetKey(n.Item)
	}
	return len(t.processes)+len(t.keys) < before
}

func (t *Table[R]) forgetKey(k *Key[R]) {
	for i := range k.answers {
		t.sum -= k.answers[i].hash
		t.keyBytes -= Overhead + k.answers[i].bytes
	}
	t.sum -= t.hashKey(k)
	t.expiries.Remove(&k.expiry)
	delete(t.keys, k.id)
}

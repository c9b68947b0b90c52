package access

import (
	"cmp"
	"fmt"

	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/table"
)

// MaxTokens is how many access tokens a cluster keeps.
const MaxTokens = 100_000

// Scalars are what a Table knows besides its tokens.
type Scalars struct {
	Last    uint64 `cbor:"1,keyasint,omitempty"` // number of the newest token that ever was; 0: there was none
	Rev     uint64 `cbor:"2,keyasint,omitempty"` // of the last change of any token, or of RootOff
	RootOff bool   `cbor:"3,keyasint,omitempty"` // the root token does not hold

	SignIn    string `cbor:"4,keyasint,omitempty"` // who vouches for people and workloads (SPEC A7), as its proposers write it; "": nobody
	SignInRev uint64 `cbor:"5,keyasint,omitempty"` // of its last change
}

// Table holds the access tokens. Tokens are found in O(1), by number and by hash, and walked by name. Reads may run beside each other, not
// beside writes; Freeze is a write.
type Table struct {
	rows    table.Sorted[string, *Token, page]
	numbers map[uint64]*entry
	hashes  map[Hash]*entry // by present and by former secrets
	due     table.Heap[*table.Pos, uint64, *entry]
	Scalars
	kind uint64 // of hashes
	sum  uint64

	signIn uint64 // hash of SignIn, which is long and seldom changes
}

type (
	page  = [128]*Token
	entry struct {
		token *Token
		place table.Pos // in due
	}
)

// NewTable returns an empty table. The kind begins the hashes of its tokens, and the one after it the hash of its Scalars.
func NewTable(kind uint64) Table {
	return Table{kind: kind, numbers: map[uint64]*entry{}, hashes: map[Hash]*entry{}, rows: table.NewSorted[string, *Token, page](
		table.Order[string, *Token]{Key: func(t **Token) string { return (*t).Name }, Compare: cmp.Compare[string]},
	)}
}

// Len returns how many tokens there are.
func (t *Table) Len() int { return t.rows.Len() }

// Sum returns the sum of the hashes of all tokens, and of the scalars if they are not zero. A write subtracts the hash of what is in
// memory, so that a token that was damaged there shows.
func (t *Table) Sum() uint64 {
	if t.Scalars == (Scalars{}) {
		return t.sum
	}
	h := hash.New(t.kind + 1)
	h.Word(t.Last)
	h.Word(t.Rev)
	h.Bool(t.RootOff)
	if t.SignInRev != 0 {
		h.Word(t.SignInRev)
		h.Word(t.signIn)
	}
	return t.sum + h.Sum()
}

// Named returns the token of a name, or nil.
func (t *Table) Named(name string) *Token {
	if row := t.rows.Get(name); row != nil {
		return *row
	}
	return nil
}

// Numbered returns the token with a number, or nil.
func (t *Table) Numbered(number uint64) *Token {
	if e := t.numbers[number]; e != nil {
		return e.token
	}
	return nil
}

// Hashed returns the token whose secret, or former secret, has a hash and holds at a time, or nil.
func (t *Table) Hashed(h Hash, now int64) *Token {
	e := t.hashes[h]
	if e == nil || !e.token.Holds(now) || e.token.Hash != h && e.token.FormerUntil <= now {
		return nil
	}
	return e.token
}

// Add adds a token of a snapshot, and reports whether it was not there.
func (t *Table) Add(x *Token) bool {
	if t.Named(x.Name) != nil || t.numbers[x.Number] != nil || t.hashes[x.Hash] != nil || t.hashes[x.Former] != nil {
		return false
	}
	t.Put(x)
	return true
}

// Speaks reports whether commands of the token with a number are carried out at a time.
func (t *Table) Speaks(number uint64, now int64) bool {
	if number == Root {
		return !t.RootOff
	}
	e := t.numbers[number]
	return e != nil && e.token.Holds(now)
}

// After yields the tokens behind a name, in the order of their names; "": all of them.
func (t *Table) After(name string) func(yield func(*Token) bool) {
	return func(yield func(*Token) bool) {
		for row := range t.rows.After(name) {
			if !yield(*row) {
				return
			}
		}
	}
}

// Put adds a token, or lets it take the place of the token with the same number and name.
func (t *Table) Put(x *Token) {
	if former := t.numbers[x.Number]; former != nil {
		t.leave(former)
		*t.rows.Edit(x.Name) = x
	} else {
		t.rows.Insert(x.Name, x)
	}
	e := &entry{token: x}
	t.numbers[x.Number], t.hashes[x.Hash] = e, e
	if (x.Former != Hash{}) {
		t.hashes[x.Former] = e
	}
	if at := x.next(); at != 0 {
		t.due.Push(at, x.Number, &e.place, e)
	}
	t.sum += x.hash(t.kind)
	t.Last, t.Rev = max(t.Last, x.Number), max(t.Rev, x.Rev)
}

// Remove takes a token out. The write has a rev of its own.
func (t *Table) Remove(x *Token, rev uint64) {
	t.leave(t.numbers[x.Number])
	t.rows.Remove(x.Name)
	t.Rev = rev
}

// leave takes e out of everything but rows.
func (t *Table) leave(e *entry) {
	x := e.token
	t.sum -= x.hash(t.kind)
	delete(t.numbers, x.Number)
	delete(t.hashes, x.Hash)
	delete(t.hashes, x.Former)
	if e.place != 0 {
		t.due.Remove(&e.place)
	}
}

// SetRoot turns the root token off or on.
func (t *Table) SetRoot(off bool, rev uint64) { t.RootOff, t.Rev = off, rev }

func (t *Table) setSignIn(settings string, rev uint64) {
	h := hash.New(t.kind + 1)
	h.Str(settings)
	t.SignIn, t.SignInRev, t.signIn = settings, rev, h.Sum()
}

// SignIn are the settings of sign-in in the head of a snapshot.
type SignIn struct {
	Settings string `cbor:"1,keyasint,omitempty"`
	Rev      uint64 `cbor:"2,keyasint"`
}

// SignInHead returns the settings of sign-in; nil: they were never set.
func (t *Table) SignInHead() *SignIn {
	if t.SignInRev == 0 {
		return nil
	}
	return &SignIn{t.SignIn, t.SignInRev}
}

// Restore takes what the head of a snapshot says.
func (t *Table) Restore(last, rev uint64, rootOff bool, s *SignIn) {
	t.Last, t.Rev, t.RootOff = last, rev, rootOff
	if s != nil {
		t.setSignIn(s.Settings, s.Rev)
	}
}

// Due returns a token of which something has ended at a time, or nil. next is the token without this, or nil if the token has expired.
func (t *Table) Due(now int64) (was, next *Token) {
	n := t.due.Head()
	if n == nil || n.Key > now {
		return nil, nil
	}
	was = n.Item.token
	if !was.Holds(now) {
		return was, nil
	}
	copied := *was
	copied.Former, copied.FormerUntil = Hash{}, 0
	return was, &copied
}

// Next returns when Due will next return a token; 0: never.
func (t *Table) Next() int64 {
	if n := t.due.Head(); n != nil {
		return n.Key
	}
	return 0
}

// Frozen are the tokens as they were. They may be read from another goroutine while the table goes on.
type Frozen = table.Frozen[*Token, page]

// Freeze returns the tokens as they are and will stay.
func (t *Table) Freeze() Frozen { return t.rows.Freeze() }

// Check compares what is derived with a recount, and verifies each token.
func (t *Table) Check(rev uint64) error {
	sum, hashes, due := uint64(0), 0, 0
	for x := range t.After("") {
		sum += x.hash(t.kind)
		e := t.numbers[x.Number]
		switch field, why := x.Wrong(); {
		case field != "":
			return fmt.Errorf("A4: token %s: %s %s", x.Name, field, why)
		case e == nil || e.token != x || t.hashes[x.Hash] != e || (x.Former != Hash{}) && t.hashes[x.Former] != e:
			return fmt.Errorf("A4: token %s is not found by its number and its hashes", x.Name)
		case x.Number <= Root || x.Number > t.Last || x.Rev > t.Rev || x.Rev == 0:
			return fmt.Errorf("A4: token %s: number or rev", x.Name)
		case (x.Former == Hash{}) != (x.FormerUntil == 0) || x.Former == x.Hash:
			return fmt.Errorf("A4: token %s: its former secret", x.Name)
		}
		hashes++
		if (x.Former != Hash{}) {
			hashes++
		}
		if at := x.next(); at != 0 {
			due++
			if n := t.due.At(e.place); n == nil || n.Item != e || n.Key != at {
				return fmt.Errorf("A4: token %s: when it ends", x.Name)
			}
		}
	}
	if t.Rev > rev || t.rows.Len() > MaxTokens || len(t.numbers) != t.rows.Len() || len(t.hashes) != hashes || t.due.Len() != due || sum != t.sum {
		return fmt.Errorf("A4: the tokens, recounted: %d numbers, %d hashes, %d that end, sum %x", t.rows.Len(), hashes, due, sum)
	}
	if err := t.due.Check(); err != nil {
		return err
	}
	return t.rows.Check(func(free **Token) bool { return *free == nil })
}

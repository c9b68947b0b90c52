package access_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/access"
)

func secret(n int) []byte {
	s := make([]byte, 32)
	s[0], s[1] = byte(n), 1
	return s
}

// TestTable makes, rotates, revokes and expires tokens at random: every token is found by all its names, nothing that is gone is, what was
// frozen stays, and the sum is that of the tokens alone (SPEC A4).
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table := access.NewTable(7)
	if table.Sum() != 0 {
		t.Error("no token, and something is in the digest")
	}
	grant := access.Everything()
	rev, now := uint64(0), int64(1000)
	names := []string{"ann", "bob", "cid", "dan", "eve"}
	put := func(x *access.Token, no access.Refusal) {
		if (x == nil) != (no.Code != "") {
			t.Fatalf("%v with the refusal %+v", x, no)
		}
		if x != nil {
			rev++
			x.Rev = rev
			table.Put(x)
		}
	}
	var frozen access.Frozen
	var then []access.Token
	copied := func() (all []access.Token) {
		for x := range table.After("") {
			all = append(all, *x)
		}
		return all
	}
	lapsed := 0
	for range 20_000 {
		name := names[r.IntN(len(names))]
		switch r.IntN(6) {
		case 0, 1:
			put(table.New(access.Token{Name: name, Grant: grant, CreatedAt: now}, secret(r.IntN(20)), int64(r.IntN(3))*100))
		case 2:
			put(table.Rotated(name, 0, secret(r.IntN(20)), int64(r.IntN(3))*50, now))
		case 3:
			if x, _ := table.Find(name, 0); x != nil {
				rev++
				table.Remove(x, rev)
			}
		case 4:
			now += int64(r.IntN(60))
			for was, next := table.Due(now); was != nil; was, next = table.Due(now) {
				lapsed++
				if next != nil {
					put(next, access.Refusal{})
					continue
				}
				rev++
				table.Remove(was, rev)
			}
		case 5:
			frozen, then = table.Freeze(), copied()
		}
		if err := table.Check(rev); err != nil {
			t.Fatal(err)
		}
		i := 0
		for x := range frozen.All {
			if !slices.Equal((*x).Grant.Namespaces, then[i].Grant.Namespaces) || (*x).Name != then[i].Name || (*x).Rev != then[i].Rev {
				t.Fatalf("frozen: %+v, was %+v", *x, then[i])
			}
			i++
		}
	}
	if lapsed < 100 {
		t.Errorf("only %d lapsed", lapsed)
	}
	for x := range table.After("") {
		rev++
		table.Remove(x, rev)
		break
	}
	restored := access.NewTable(7)
	restored.Restore(table.Last, table.Rev, table.RootOff, table.SignInHead())
	for _, x := range copied() {
		if !restored.Add(&x) || restored.Add(&x) {
			t.Errorf("%s is taken twice, or not once", x.Name)
		}
	}
	if restored.Sum() != table.Sum() || restored.Check(rev) != nil || restored.Check(rev-1) == nil {
		t.Error("restored: it is another table")
	}
}

// TestManyTokens: a cluster keeps 100,000 tokens and no more, and finds each.
func TestManyTokens(t *testing.T) {
	table := access.NewTable(7)
	grant := access.Everything()
	var number [32]byte
	for i := range access.MaxTokens {
		number[0], number[1], number[2], number[3] = byte(i), byte(i>>8), byte(i>>16), 1
		name := "t" + string([]byte{byte('a' + i/17576%26), byte('a' + i/676%26), byte('a' + i/26%26), byte('a' + i%26)})
		x, no := table.New(access.Token{Name: name, Grant: grant, CreatedAt: 1}, number[:], 0)
		if x == nil {
			t.Fatal(i, no)
		}
		x.Rev = uint64(i) + 1
		table.Put(x)
	}
	number[3] = 2
	if x, no := table.New(access.Token{Name: "one-more", Grant: grant}, number[:], 0); x != nil || no.Code != access.CodeTooMany {
		t.Errorf("one more: %+v", no)
	}
	number[3] = 1
	if x := table.Hashed(access.Hash(number), 1); x == nil || x.Number != access.MaxTokens+1 {
		t.Errorf("the last one is %+v", x)
	}
	if err := table.Check(access.MaxTokens); err != nil {
		t.Error(err)
	}
}

// TestEnding: tokens that end soon are counted, those that have ended, that never end and those of people who have signed in are not.
func TestEnding(t *testing.T) {
	table := access.NewTable(7)
	for i, x := range []access.Token{
		{Name: "ended", Expires: 1000}, {Name: "soon", Expires: 1001}, {Name: "just", Expires: 1100}, {Name: "later", Expires: 1101}, {Name: "never"},
		{Name: "session", Expires: 1001, Subject: "ann"},
	} {
		x.Number, x.Rev, x.Hash = uint64(i+2), uint64(i+2), secretHash(byte(i))
		table.Put(&x)
	}
	if n := table.View(1000).Ending(100); n != 2 {
		t.Errorf("%d tokens end soon, want 2", n)
	}
}

func secretHash(b byte) access.Hash { return access.Hash{b + 1} }

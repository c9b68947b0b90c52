package access

// Caller is who asked for a command of the log (SPEC A4). The zero Caller is the cluster itself, or anybody in a cluster that is open.
type Caller struct {
	Token uint64 // number of the access token

	// These say from where, by which route and on what a recorded change is made. For other commands they are "".
	From, Route, Target string

	// Look says that the command is about existing tasks or operations, and that Apply decides about them: whether the caller may change them
	// (SPEC A5), and whether the audit gets a record. It gets none if all of them are the caller's own (SPEC A8).
	Look bool
}

// View reads a Table at an instant. It is good until the next write.
type View struct {
	table *Table
	now   int64
}

// View returns the tokens for reading, as they are at a time.
func (t *Table) View(now int64) View { return View{t, now} }

// Now is the instant, in Unix milliseconds of the log's clock.
func (v View) Now() int64 { return v.now }

// Rev is the rev of the last change of any token, or of the root token's switch. When a token expires, the rev changes by the Tick that removes it.
func (v View) Rev() uint64 { return v.table.Rev }

// RootOff reports whether the root token is turned off.
func (v View) RootOff() bool { return v.table.RootOff }

// SignIn returns the settings of sign-in, and the rev of their last change; "": nobody vouches.
func (v View) SignIn() (settings string, rev uint64) { return v.table.SignIn, v.table.SignInRev }

// Hashed returns the token for which a secret with this hash stands now, or nil.
func (v View) Hashed(h Hash) *Token { return v.table.Hashed(h, v.now) }

// Numbered returns the token with a number, expired or not, or nil.
func (v View) Numbered(number uint64) *Token { return v.table.Numbered(number) }

// Named returns the token of a name, expired or not, or nil.
func (v View) Named(name string) *Token { return v.table.Named(name) }

// After yields the tokens behind a name, in the order of their names; "": all of them.
func (v View) After(name string) func(yield func(*Token) bool) { return v.table.After(name) }

// Ending counts the tokens that hold now and end within so many milliseconds. It leaves out sessions, because all of them end soon.
func (v View) Ending(within int64) (n int) {
	for t := range v.table.After("") {
		if t.Subject == "" && t.Expires > v.now && t.Expires <= v.now+within {
			n++
		}
	}
	return n
}

// Speaks reports whether a command of this caller would be carried out now.
func (v View) Speaks(number uint64) bool { return v.table.Speaks(number, v.now) }

// Name returns the name of the token with a number; "" if there is none.
func (v View) Name(number uint64) string { return v.table.name(number) }

func (t *Table) name(number uint64) string {
	if x := t.Numbered(number); x != nil {
		return x.Name
	}
	if number == Root {
		return RootName
	}
	return ""
}

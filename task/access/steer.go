package access

// Steer judges what a caller may do with the records that one command is about, as they are when the command is applied (SPEC A5).
type Steer struct {
	By     uint64 // number of the caller's token
	Grant  Grant  // the token's
	Others bool   // the command operates on something that is not the caller's own

	no Refusal // the first
}

// Asked returns a Steer for the caller of a command.
func (t *Table) Asked(by uint64) (s Steer) {
	s.By = by
	if x := t.Numbered(by); x != nil {
		s.Grant = x.Grant
	} else if by == Root {
		s.Grant = Everything()
	}
	return s
}

// Record looks at a record. A role for its behavior is enough. For all but reports of attempts it is also enough to have created the record.
func (s *Steer) Record(role Roles, namespace, behavior string, creator uint64) {
	own := role != Work && creator == s.By && s.Grant.In(Submit, namespace)
	s.Others = s.Others || role == Operate && !own
	switch {
	case s.no.Code != "" || own || s.Grant.Allows(role, namespace, behavior):
	case s.Grant.In(All, namespace):
		s.no = Refusal{Code: CodeForbidden, Why: Lack(role, ForBehavior(behavior, namespace))}
	default:
		s.no = Refusal{Code: CodeNoNamespace, Field: "namespace", Why: "no namespace " + namespace}
	}
}

// Nothing looks at a record that is not there. The command answers so itself. If the caller may operate on all records of the namespace, this one
// could have been anybody's.
func (s *Steer) Nothing(role Roles, namespace string) {
	s.Others = s.Others || role == Operate && s.Grant.Whole(role, namespace)
}

// Refusal says why the caller may not do all of it. If it has no role at all in the namespace, it is told that there is no such namespace.
func (s *Steer) Refusal() Refusal { return s.no }

package api

import "fmt"

// Check tells what is wrong with the transaction by itself; nil or an *Error that names the part (SPEC X1). It brings the
// transaction into its one form, as SubmitRequest.Check does: namespaces are filled in, and payloads are compact.
func (r *TxnRequest) Check() error { return r.check().orNil() }

func (r *TxnRequest) check() *Error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	parts := len(r.Depends) + len(r.Submit) + len(r.Update) + len(r.Finish) + len(r.Delete)
	if parts == 0 {
		return NewError(CodeBadRequest, "the transaction has no part")
	}
	if parts > MaxTxnParts {
		e := NewError(CodeTooLarge, "%d parts, at most %d", parts, MaxTxnParts)
		e.Limit = MaxTxnParts
		return e
	}
	if err := checkTxnSize(r.bytes()); err != nil {
		return err
	}
	seen := map[string]string{} // where an ID stands
	for _, check := range []func(map[string]string) *Error{r.checkDepends, r.checkSubmits, r.checkUpdates, r.checkFinishes, r.checkDeletes} {
		if err := check(seen); err != nil {
			return err
		}
	}
	return nil
}

// CheckTxnSize refuses a transaction of more than MaxTxnBytes; nil or an *Error.
func CheckTxnSize(n int) error { return checkTxnSize(n).orNil() }

func checkTxnSize(n int) *Error {
	if n > MaxTxnBytes {
		return LimitError("", MaxTxnBytes, "%d bytes, at most %d", n, MaxTxnBytes)
	}
	return nil
}

// bytes returns how many bytes the payloads take. These are never more than the body had in which they came.
func (r *TxnRequest) bytes() int {
	n := 0
	for i := range r.Submit {
		n += len(r.Submit[i].Params) + len(r.Submit[i].ParamsBase64)
	}
	for i := range r.Update {
		n += len(r.Update[i].Params) + len(r.Update[i].ParamsBase64)
	}
	for i := range r.Finish {
		f := &r.Finish[i]
		n += len(f.Result) + len(f.ResultBase64)
		if f.Error != nil {
			n += len(f.Error.Message) + len(f.Error.Details)
		}
	}
	return n
}

// once refuses an ID that stands in two parts, because it would matter which of the parts comes first.
func once(seen map[string]string, at, id string) *Error {
	if before, twice := seen[id]; twice {
		return FieldError(CodeInvalidField, "id", "%s is also in %s; an ID stands once", id, before)
	}
	seen[id] = at
	return nil
}

// in adds to the field of an error the part in which the error is.
func (e *Error) in(path string) *Error {
	if e != nil {
		e.Field = join(path, e.Field)
	}
	return e
}

func (r *TxnRequest) checkDepends(map[string]string) *Error {
	for i, d := range r.Depends {
		at := fmt.Sprintf("depends[%d]", i)
		if err := checkID(d.ID); err != nil {
			return err.in(at)
		}
		if d.Rev != 0 && d.Token != 0 {
			return FieldError(CodeInvalidField, "token", "give either rev or token").in(at)
		}
	}
	return nil
}

func (r *TxnRequest) checkSubmits(seen map[string]string) *Error {
	for i := range r.Submit {
		s, at := &r.Submit[i], fmt.Sprintf("submit[%d]", i)
		if err := sameNamespace(&s.Namespace, r.Namespace); err != nil {
			return err.in(at)
		}
		if err := s.check(); err != nil {
			return err.in(at)
		}
		if s.IfExists == "rerun" || s.IfExists == "resubmit" {
			return FieldError(CodeInvalidField, "if_exists", "must be join or fail in a transaction").in(at)
		}
		if s.ID != "" {
			if err := once(seen, at, s.ID); err != nil {
				return err.in(at)
			}
		}
	}
	return nil
}

// sameNamespace fills in the namespace of a part. It refuses a namespace other than the transaction's.
func sameNamespace(part *string, whole string) *Error {
	if *part != "" && *part != whole {
		return FieldError(CodeInvalidField, "namespace", "differs from the request's, %s", whole)
	}
	*part = whole
	return nil
}

func (r *TxnRequest) checkUpdates(seen map[string]string) *Error {
	for i := range r.Update {
		u, at := &r.Update[i], fmt.Sprintf("update[%d]", i)
		err := checkID(u.ID)
		if err == nil {
			err = once(seen, at, u.ID)
		}
		if err == nil {
			err = checkTimes(u.NotBefore, u.Delay, u.Deadline)
		}
		if err == nil {
			err = checkPriority(u.Priority)
		}
		if err == nil {
			err = checkLabels(u.Labels)
		}
		if err == nil {
			err = checkPayload("params", &u.Params, u.ParamsBase64)
		}
		if err != nil {
			return err.in(at)
		}
	}
	return nil
}

func (r *TxnRequest) checkFinishes(seen map[string]string) *Error {
	for i := range r.Finish {
		f, at := &r.Finish[i], fmt.Sprintf("finish[%d]", i)
		err := sameNamespace(&f.Namespace, r.Namespace)
		if err == nil {
			err = f.check()
		}
		if err == nil {
			err = once(seen, at, f.ID)
		}
		if err != nil {
			return err.in(at)
		}
	}
	return nil
}

func (r *TxnRequest) checkDeletes(seen map[string]string) *Error {
	for i, d := range r.Delete {
		at := fmt.Sprintf("delete[%d]", i)
		err := checkID(d.ID)
		if err == nil {
			err = once(seen, at, d.ID)
		}
		if err != nil {
			return err.in(at)
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/task"
)

// Children checks children as submits of their own and gives each its ID, the same whenever the same success is
// reported. A child that has the ID of an earlier one joins it.
func (svc *Service) Children(ctx context.Context, parent *task.Finish, docs [][]byte) ([]task.Submit, error) {
	c := checks{looks: looks{svc: svc}}
	var submits []task.Submit
	for i, doc := range docs {
		s, err := c.child(ctx, parent, i, doc)
		if err != nil {
			return nil, partError("children", i, err)
		}
		twin := slices.IndexFunc(submits, func(o task.Submit) bool { return o.ID == s.ID })
		switch {
		case twin < 0:
			submits = append(submits, s)
		case s.IfExists == task.Fail || s.Behavior != submits[twin].Behavior:
			return nil, partError("children", i, api.FieldError(string(task.AlreadyExists), "id", "another child has the ID %s", s.ID))
		}
	}
	return submits, nil
}

func (c *checks) child(ctx context.Context, parent *task.Finish, number int, doc []byte) (s task.Submit, err error) {
	r, err := children.Decode(doc)
	if err != nil {
		return s, err
	}
	r.Namespace = parent.Key.Namespace
	if err := api.CheckUserNamespace(r.Namespace); err != nil {
		return s, err
	}
	if c.origin, err = json.Marshal([]any{"child", parent.Key.ID, parent.Token, number}); err != nil {
		return s, err
	}
	if s, err = c.prepare(ctx, &r); err != nil {
		return s, err
	}
	s.Parent = parent.Key.ID
	if s.ID == s.Parent {
		return s, api.FieldError(string(task.AlreadyExists), "id", "it is the parent's own")
	}
	return s, nil
}

package spaces

import (
	"context"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// An ID that follows from params depends on the namespace, too (SPEC I2): in another namespace an equal submit makes another
// task, which runs again. An import says how many tasks have such IDs, or gives these tasks the IDs that they would have in
// this namespace.

// learn notes how the versions of a behavior make IDs from params.
func (s *sink) learn(b *task.Behavior) {
	for i := range b.Versions {
		p := &b.Versions[i].Policy
		if p.IDStrategy == task.IDParams && !slices.ContainsFunc(s.ids[b.Name], func(from []string) bool { return slices.Equal(from, p.IDFrom) }) {
			s.ids[b.Name] = append(s.ids[b.Name], p.IDFrom)
		}
	}
}

// Task implements archive.Sink. The export may be of a cluster whose feature level knows more (SPEC C9, U1).
func (s *sink) Task(ctx context.Context, t *task.Task) error {
	if s.Level() < task.MemoryLevel {
		for i := range t.History {
			t.History[i].Pages = 0
		}
	}
	if s.namespace == s.exported || t.Role != task.RoleNone {
		return nil
	}
	if to, ok := s.renamed[t.Parent]; ok {
		t.Parent = to
	}
	for _, from := range s.ids[t.Behavior] {
		id, err := s.DeterministicID(ctx, s.exported, t.Behavior, from, t.Params)
		switch {
		case err != nil && api.CodeOf(err) != api.CodeInvalidParams:
			return refused(err)
		case err != nil, id != t.ID: // the submit gave the ID, or it follows from the values that another version picks
			continue
		}
		s.foreign++
		if !s.rehash {
			return nil
		}
		if id, err = s.DeterministicID(ctx, s.namespace, t.Behavior, from, t.Params); err != nil {
			return refused(err)
		}
		if s.renamed == nil {
			s.renamed = map[string]string{}
		}
		s.renamed[t.ID], t.ID = id, id
		s.foreign, s.rehashed = s.foreign-1, s.rehashed+1
		return nil
	}
	return nil
}

package service

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// taskKey checks the two parts of a task's name.
func taskKey(namespace, id string) (task.Key, error) {
	if err := api.CheckID(id); err != nil {
		return task.Key{}, err
	}
	if namespace == "" {
		namespace = task.DefaultNamespace
	}
	return task.Key{Namespace: namespace, ID: id}, nil
}

func notFound(m *task.Machine, key task.Key) error {
	if !m.NamespaceExists(key.Namespace) {
		return spaces.Unknown(key.Namespace)
	}
	return api.NewError(api.CodeTaskNotFound, "no task %s", key.ID)
}

// Task implements api.Service.
func (svc *Service) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Wait > 0 {
		return svc.waitTask(ctx, key, o)
	}
	var t *api.Task
	missing := error(nil)
	err = svc.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if r := m.Task(key); r != nil {
			t = view.Of(m).Task(r)
		} else {
			missing = notFound(m, key)
		}
	})
	return t, firstError(err, missing)
}

// Tasks implements api.Service.
func (svc *Service) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	missing := error(nil)
	err := svc.read(ctx, readOptions{r.Stale, r.MinIndex}, func(m *task.Machine) {
		if !m.NamespaceExists(r.Namespace) {
			missing = spaces.Unknown(r.Namespace)
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return svc.found.List(ctx, &r)
}

func statuses(s string) task.Status {
	for _, st := range []task.Status{task.Created, task.Running, task.Success, task.Failure} {
		if st.String() == s {
			return st
		}
	}
	return 0
}

// Cancel implements api.Service.
func (svc *Service) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	r, err := svc.proposeOne(ctx, task.Cancel{Key: key})
	if err != nil {
		return nil, err
	}
	reply := &api.CancelReply{Told: r.Told}
	svc.store.Local(func(m *task.Machine) { reply.Task = view.Of(m).Task(r.Task) })
	return reply, nil
}

// Remove implements api.Service.
func (svc *Service) Remove(ctx context.Context, namespace, id string) error {
	key, err := taskKey(namespace, id)
	if err := firstError(err, api.CheckUserNamespace(namespace)); err != nil {
		return err
	}
	_, err = svc.proposeOne(ctx, task.Remove{Key: key})
	return err
}

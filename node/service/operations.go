package service

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/cursor"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// StartOperation implements api.Service (SPEC O1, O2).
func (svc *Service) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, api.NewError(api.CodeInternal, "draw an ID: %v", err)
		}
		r.ID = id.String()
	}
	cmd := task.StartOperation{
		Namespace: r.Namespace, ID: r.ID, Behavior: r.Behavior, Target: r.Target, Object: r.Object,
		Partitions: r.Partitions.Count, Names: r.Partitions.Names, Labels: labelsOf(r.Labels), Priority: 4,
		Arg: payloadOf(r.Arg, nil), Trace: svc.traceOf(ctx),
	}
	if r.Priority != nil {
		cmd.Priority = int8(*r.Priority)
	}
	c := checks{looks: looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (task.Command, error) {
		err := c.twice(ctx, func() error { return svc.checkStart(ctx, &cmd) })
		return cmd, err
	})
	if err != nil {
		return nil, svc.counted(err)
	}
	return svc.operationReply(&res), nil
}

// counted adds to a refusal what the operation that it names does now, which the result of a command does not carry.
func (svc *Service) counted(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Operation != nil {
		svc.store.Local(func(m *task.Machine) {
			if o := m.Operation(task.Key{Namespace: e.Operation.Namespace, ID: e.Operation.ID}); o != nil {
				e.Operation = view.Of(m).Operation(o)
			}
		})
	}
	return err
}

// checkStart checks a start against the behavior that this node's state has. The behavior's limit of params bounds the
// argument. Its schema is checked against the params that the first partition will get.
func (svc *Service) checkStart(ctx context.Context, cmd *task.StartOperation) error {
	b, v, err := svc.active(cmd.Namespace, cmd.Behavior)
	if err != nil {
		return err
	}
	if v.Policy.Operation == nil {
		return api.FieldError(string(task.NotAnOperation), "behavior", "the manifest of %s does not say operation", b.Name)
	}
	if size, limit := int64(len(cmd.Arg.Data)), v.Policy.Limits.ParamsBytes; limit > 0 && size > limit {
		return api.LimitError("arg", limit, "%d bytes, behavior %s takes at most %d", size, b.Name, limit)
	}
	if err := svc.contents().naming("arg", &cmd.Arg); err != nil {
		return err
	}
	o := task.Operation{ID: cmd.ID, Target: cmd.Target, Object: cmd.Object, Arg: cmd.Arg}
	first := task.Task{Role: task.RolePartition, Partition: "0"}
	if len(cmd.Names) > 0 {
		first.Partition = cmd.Names[0]
	}
	if err := svc.schemas.Params(ctx, v.Policy.ParamsSchema, view.ParamsOf(&o, &first)); err != nil {
		return ofStart(err)
	}
	cmd.BehaviorRev = b.Rev
	return nil
}

// ofStart turns an error about a partition's params into one about the fields of the request that they are made of.
func ofStart(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		if field, inside := strings.CutPrefix(e.Field, "params."); inside {
			e.Field = field
		} else if e.Field == "params" {
			e.Field = "arg"
		}
	}
	return err
}

func (svc *Service) operationReply(r *task.Result) (o *api.Operation) {
	svc.store.Local(func(m *task.Machine) { o = view.Of(m).Operation(r.Operation) })
	return o
}

// operationKey checks the two parts of an operation's name.
func operationKey(namespace, id string) (task.Key, error) {
	if err := api.CheckOperationID(id); err != nil {
		return task.Key{}, err
	}
	if namespace == "" {
		namespace = task.DefaultNamespace
	}
	return task.Key{Namespace: namespace, ID: id}, nil
}

func noOperation(m *task.Machine, key task.Key) error {
	if !m.NamespaceExists(key.Namespace) {
		return spaces.Unknown(key.Namespace)
	}
	return api.NewError(string(task.OperationNotFound), "no operation %s", key.ID)
}

// Operation implements api.Service.
func (svc *Service) Operation(ctx context.Context, namespace, id string, o api.OperationGet) (*api.Operation, error) {
	key, err := operationKey(namespace, id)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Wait > 0 {
		return svc.waitOperation(ctx, key, o)
	}
	var reply *api.Operation
	missing := error(nil)
	err = svc.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if reply = view.Of(m).Operation(m.Operation(key)); reply == nil {
			missing = noOperation(m, key)
		}
	})
	return reply, firstError(err, missing)
}

// Operations implements api.Service.
func (svc *Service) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	after, err := cursor.Operations.Read(r.Cursor)
	if err != nil {
		return nil, err
	}
	f := task.OperationFilter{
		Namespace: r.Namespace, Behavior: r.Behavior, Target: r.Target, Status: operationStatus(r.Status), Limit: r.Limit, After: after, Rows: lookedAt,
	}
	reply := &api.OperationsReply{Operations: []*api.Operation{}}
	missing := error(nil)
	err = svc.look(ctx, readOptions{r.Stale, r.MinIndex}, func(m *task.Machine) (more bool) {
		if !m.NamespaceExists(r.Namespace) {
			missing = spaces.Unknown(r.Namespace)
			return false
		}
		f.Limit = r.Limit - len(reply.Operations)
		page, next := m.Operations(f)
		for _, o := range page {
			if r.Sight != nil && !r.Sight(o.Behavior, o.Creator) {
				continue
			}
			reply.Operations = append(reply.Operations, view.Of(m).Operation(o))
		}
		if f.After, reply.Cursor = next, ""; next != 0 {
			reply.Cursor = cursor.Operations.Text(next)
		}
		return next != 0 && len(reply.Operations) < r.Limit
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	return reply, nil
}

func operationStatus(s string) task.OperationStatus {
	for st := task.OperationRunning; st <= task.OperationFailure; st++ {
		if st.String() == s {
			return st
		}
	}
	return 0
}

// Partitions implements api.Service. A page may have fewer tasks than its limit, or none, and a cursor all the same.
// There are two reasons: few partitions have the status that is asked for, and one request looks at no more of them
// than the machine allows; or a large argument makes pages short.
func (svc *Service) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	from, err := cursor.Partitions.Read(r.Cursor)
	if err != nil {
		return nil, err
	}
	key := task.Key{Namespace: r.Namespace, ID: r.ID}
	reply := &api.ListReply{}
	missing := error(nil)
	err = svc.read(ctx, readOptions{}, func(m *task.Machine) {
		if m.Operation(key) == nil {
			missing = noOperation(m, key)
			return
		}
		tasks, next := m.OperationTasks(key, int64(min(from, api.MaxPartitions)), r.Limit, statuses(r.Status))
		reply.Tasks = view.Of(m).Page(tasks, new(view.Composed))
		if n := len(reply.Tasks); n < len(tasks) {
			next = task.PartitionOf(tasks[n-1]) + 1
		}
		if next >= 0 {
			reply.Cursor = cursor.Partitions.Text(uint64(next))
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	return reply, nil
}

// CancelOperation implements api.Service (SPEC O3).
func (svc *Service) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return svc.changeOperation(ctx, namespace, id, func(k task.Key) task.Command { return task.CancelOperation{Key: k} })
}

// RetryOperation implements api.Service (SPEC O3).
func (svc *Service) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return svc.changeOperation(ctx, namespace, id, func(k task.Key) task.Command { return task.RetryOperation{Key: k} })
}

func (svc *Service) changeOperation(ctx context.Context, namespace, id string, command func(task.Key) task.Command) (*api.Operation, error) {
	key, err := operationKey(namespace, id)
	if err != nil {
		return nil, err
	}
	r, err := svc.proposeOne(ctx, command(key))
	if err != nil {
		return nil, svc.counted(err)
	}
	return svc.operationReply(&r), nil
}

// RemoveOperation implements api.Service (SPEC O6).
func (svc *Service) RemoveOperation(ctx context.Context, namespace, id string) error {
	key, err := operationKey(namespace, id)
	if err != nil {
		return err
	}
	_, err = svc.proposeOne(ctx, task.RemoveOperation{Key: key})
	return err
}

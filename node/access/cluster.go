package access

import (
	"context"
	"io"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

// Push implements api.Service. The module's behaviors are known only when it has been looked at.
func (x clusterGuard) Push(ctx context.Context, r api.PushRequest) (*api.Module, error) {
	if err := in(ctx, auth.Namespace, access.Deploy, r.Namespace, ""); err != nil {
		return nil, err
	}
	if auth.PrincipalOf(ctx) != nil {
		r.May = func(behavior string) error { return in(ctx, auth.Behavior, access.Deploy, r.Namespace, behavior) }
	}
	return x.to.Push(ctx, r)
}

// seesBehavior reports whether the caller may see that there is a behavior.
func seesBehavior(ctx context.Context, namespace, name string) bool {
	return in(ctx, auth.Behavior, auth.SeeBehaviors, namespace, name) == nil
}

// partOf leaves of a module the behaviors that the caller may see; false: none.
func partOf(ctx context.Context, namespace string, m *api.Module) bool {
	m.Behaviors = slices.DeleteFunc(m.Behaviors, func(b api.ModuleBehavior) bool { return !seesBehavior(ctx, namespace, b.Name) })
	return len(m.Behaviors) > 0
}

// Modules implements api.Service.
func (x clusterGuard) Modules(ctx context.Context, namespace string) ([]api.Module, error) {
	all, err := read(ctx, x.guard, in(ctx, auth.Namespace, auth.SeeBehaviors, namespace, ""), func() ([]api.Module, error) { return x.to.Modules(ctx, namespace) })
	if auth.PrincipalOf(ctx) == nil {
		return all, err
	}
	seen := []api.Module{}
	for i := range all {
		if partOf(ctx, namespace, &all[i]) {
			seen = append(seen, all[i])
		}
	}
	return seen, err
}

// Module implements api.Service.
func (x clusterGuard) Module(ctx context.Context, namespace, digest string) (*api.Module, error) {
	m, err := read(ctx, x.guard, in(ctx, auth.Namespace, auth.SeeBehaviors, namespace, ""), func() (*api.Module, error) { return x.to.Module(ctx, namespace, digest) })
	if err == nil && auth.PrincipalOf(ctx) != nil && !partOf(ctx, namespace, m) {
		return nil, api.NewError(api.CodeModuleNotFound, "no module %.80s", digest)
	}
	return m, err
}

// Behaviors implements api.Service.
func (x clusterGuard) Behaviors(ctx context.Context, namespace string) ([]api.Behavior, error) {
	all, err := read(ctx, x.guard, in(ctx, auth.Namespace, auth.SeeBehaviors, namespace, ""), func() ([]api.Behavior, error) { return x.to.Behaviors(ctx, namespace) })
	return slices.DeleteFunc(all, func(b api.Behavior) bool { return !seesBehavior(ctx, namespace, b.Name) }), err
}

// Behavior implements api.Service.
func (x clusterGuard) Behavior(ctx context.Context, namespace, name string) (*api.BehaviorDetail, error) {
	return read(ctx, x.guard, in(ctx, auth.Behavior, auth.SeeBehaviors, namespace, name), func() (*api.BehaviorDetail, error) { return x.to.Behavior(ctx, namespace, name) })
}

// BehaviorStats implements api.Service.
func (x clusterGuard) BehaviorStats(ctx context.Context, namespace, name string) (*api.BehaviorStats, error) {
	return read(ctx, x.guard, in(ctx, auth.Behavior, auth.CountTasks, namespace, name), func() (*api.BehaviorStats, error) { return x.to.BehaviorStats(ctx, namespace, name) })
}

// PutBehavior implements api.Service.
func (x clusterGuard) PutBehavior(ctx context.Context, r api.PutBehaviorRequest) (*api.PutBehaviorReply, error) {
	if err := in(ctx, auth.Behavior, access.Deploy, r.Namespace, r.Name); err != nil {
		return nil, err
	}
	return x.to.PutBehavior(ctx, r)
}

// DeleteBehavior implements api.Service. With purge it removes what others made, which is to operate, too.
func (x clusterGuard) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	rule := auth.Rule{Scope: auth.Behavior, And: access.Deploy}
	if purge {
		rule.And |= access.Operate
	}
	if err := rule.Check(auth.PrincipalOf(ctx), orDefault(namespace), name); err != nil {
		return err
	}
	return x.to.DeleteBehavior(ctx, namespace, name, purge)
}

// ActivateVersion implements api.Service.
func (x clusterGuard) ActivateVersion(ctx context.Context, namespace, name, version string) (*api.BehaviorDetail, error) {
	if err := in(ctx, auth.Behavior, access.Deploy, namespace, name); err != nil {
		return nil, err
	}
	return x.to.ActivateVersion(ctx, namespace, name, version)
}

// PauseBehavior implements api.Service.
func (x clusterGuard) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*api.BehaviorDetail, error) {
	if err := in(ctx, auth.Behavior, access.Operate, namespace, name); err != nil {
		return nil, err
	}
	return x.to.PauseBehavior(ctx, namespace, name, paused)
}

// StoreGroups implements api.Service. Records have no behaviors, so a caller that may see some of a namespace may see all.
func (x clusterGuard) StoreGroups(ctx context.Context, namespace string) ([]string, error) {
	return read(ctx, x.guard, in(ctx, auth.Whole, access.Read, namespace, ""), func() ([]string, error) { return x.to.StoreGroups(ctx, namespace) })
}

// StoreTasks implements api.Service.
func (x clusterGuard) StoreTasks(ctx context.Context, namespace string, ids []uint64) (api.StoreList, error) {
	return read(ctx, x.guard, in(ctx, auth.Whole, access.Read, namespace, ""), func() (api.StoreList, error) { return x.to.StoreTasks(ctx, namespace, ids) })
}

// StoreGroup implements api.Service.
func (x clusterGuard) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (api.StoreList, error) {
	return read(ctx, x.guard, in(ctx, auth.Whole, access.Read, namespace, ""), func() (api.StoreList, error) { return x.to.StoreGroup(ctx, namespace, group, limit, owned) })
}

// StoreUpdate implements api.Service.
func (x clusterGuard) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	if err := auth.StoreWrite.Check(auth.PrincipalOf(ctx), orDefault(r.Namespace), ""); err != nil {
		return nil, err
	}
	return x.to.StoreUpdate(ctx, r)
}

// StoreClaim implements api.Service.
func (x clusterGuard) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	if err := auth.StoreWrite.Check(auth.PrincipalOf(ctx), orDefault(r.Namespace), ""); err != nil {
		return nil, err
	}
	return x.to.StoreClaim(ctx, r)
}

// Namespaces implements api.Service: those in which the caller has a role.
func (x clusterGuard) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	all, err := read(ctx, x.guard, auth.Rule{Scope: auth.Any}.Check(auth.PrincipalOf(ctx), "", ""), func() ([]api.Namespace, error) { return x.to.Namespaces(ctx) })
	return slices.DeleteFunc(all, func(n api.Namespace) bool { return in(ctx, auth.Namespace, access.All, n.Name, "") != nil }), err
}

// Namespace implements api.Service.
func (x clusterGuard) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	return read(ctx, x.guard, in(ctx, auth.Namespace, access.All, name, ""), func() (*api.Namespace, error) { return x.to.Namespace(ctx, name) })
}

// CreateNamespace implements api.Service. There is nothing to hide about a namespace that is to be made, so a caller that may not make it is told so.
func (x clusterGuard) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if p := auth.PrincipalOf(ctx); p != nil && !p.Grant.Whole(access.Admin, s.Name) {
		return nil, auth.Forbidden(access.Admin, " for every behavior of a namespace of this name")
	}
	return x.to.CreateNamespace(ctx, s)
}

// UpdateNamespace implements api.Service.
func (x clusterGuard) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := in(ctx, auth.Whole, access.Admin, s.Name, ""); err != nil {
		return nil, err
	}
	return x.to.UpdateNamespace(ctx, s)
}

// SetNamespaceStatus implements api.Service.
func (x clusterGuard) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	if err := in(ctx, auth.Whole, access.Admin, name, ""); err != nil {
		return nil, err
	}
	return x.to.SetNamespaceStatus(ctx, name, status)
}

// ExportNamespace implements api.Service.
func (x clusterGuard) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	if err := in(ctx, auth.Whole, access.Read, r.Name, ""); err != nil {
		return nil, err
	}
	long, end, err := x.gate.Long(ctx, auth.PrincipalOf(ctx))
	if err != nil {
		return nil, err
	}
	lines, err := read(ctx, x.guard, nil, func() (io.ReadCloser, error) { return x.to.ExportNamespace(long, r) })
	if err != nil {
		end()
		return nil, err
	}
	return &export{lines, end}, nil
}

// export is an export that ends with its token: the Service ends it with the context.
type export struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (e *export) Close() error {
	e.end()
	return e.ReadCloser.Close()
}

// ImportNamespace implements api.Service.
func (x clusterGuard) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	return wait(ctx, x.guard, in(ctx, auth.Whole, access.Admin, r.Name, ""), func(ctx context.Context) (*api.ImportReply, error) { return x.to.ImportNamespace(ctx, r) })
}

// PutBlob implements api.Service. Files belong to no namespace.
func (x clusterGuard) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	return read(ctx, x.guard, in(ctx, auth.Somewhere, auth.PutFiles, "", ""), func() (*api.Blob, error) { return x.to.PutBlob(ctx, r) })
}

// Blob implements api.Service.
func (x clusterGuard) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	return read(ctx, x.guard, in(ctx, auth.Somewhere, auth.SeeFiles, "", ""), func() (*api.Blob, error) { return x.to.Blob(ctx, digest) })
}

// BlobContent implements api.Service.
func (x clusterGuard) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	return read(ctx, x.guard, in(ctx, auth.Somewhere, auth.SeeFiles, "", ""), func() (*api.BlobContent, error) { return x.to.BlobContent(ctx, r) })
}

// StartMaintenance implements api.Service.
func (x clusterGuard) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	if err := everywhereOperate.Check(auth.PrincipalOf(ctx), "", ""); err != nil {
		return nil, err
	}
	return x.to.StartMaintenance(ctx, r)
}

// MaintenanceRuns implements api.Service.
func (x clusterGuard) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	return read(ctx, x.guard, everywhereRead.Check(auth.PrincipalOf(ctx), "", ""), func() ([]api.MaintenanceRun, error) { return x.to.MaintenanceRuns(ctx) })
}

// MaintenanceRun implements api.Service.
func (x clusterGuard) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	return read(ctx, x.guard, everywhereRead.Check(auth.PrincipalOf(ctx), "", ""), func() (*api.MaintenanceRun, error) { return x.to.MaintenanceRun(ctx, run) })
}

// Maintenance implements api.Service.
func (x clusterGuard) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	return read(ctx, x.guard, everywhereRead.Check(auth.PrincipalOf(ctx), "", ""), func() (*api.MaintenanceInfo, error) { return x.to.Maintenance(ctx) })
}

// Workers implements api.Service.
func (x clusterGuard) Workers(ctx context.Context) ([]api.Worker, error) {
	return read(ctx, x.guard, everywhereRead.Check(auth.PrincipalOf(ctx), "", ""), func() ([]api.Worker, error) { return x.to.Workers(ctx) })
}

// Drain implements api.Service.
func (x clusterGuard) Drain(ctx context.Context, node string, drain bool) (*api.Node, error) {
	if err := everywhereOperate.Check(auth.PrincipalOf(ctx), "", ""); err != nil {
		return nil, err
	}
	return x.to.Drain(ctx, node, drain)
}

// Cluster implements api.Service. A worker learns where the members are, and nothing else.
func (x clusterGuard) Cluster(ctx context.Context) (*api.Cluster, error) {
	p := auth.PrincipalOf(ctx)
	c, err := read(ctx, x.guard, auth.Rule{Scope: auth.Members, Of: access.Read}.Check(p, "", ""), func() (*api.Cluster, error) { return x.to.Cluster(ctx) })
	if err != nil || p == nil || !p.Members {
		return c, err
	}
	only := *c
	only.Workers, only.Tasks = nil, api.Totals{}
	return &only, nil
}

// Ready implements api.Service. Everybody may ask.
func (x clusterGuard) Ready(ctx context.Context) error { return x.to.Ready(ctx) }

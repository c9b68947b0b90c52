package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/policy"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/task"
)

// The kinds of behaviors: behaviors that a module implements, and external behaviors (SPEC B7).
const (
	kindWasm     = "wasm"
	kindExternal = manifest.KindExternal
)

func behaviorOf(b *task.Behavior) api.Behavior {
	a := api.Behavior{Name: b.Name, Version: b.Active, Kind: kindWasm, Paused: b.Paused}
	if b.External {
		a.Kind = kindExternal
	}
	return a
}

// detailOf shows a behavior: the manifest's entry of the active version, and all versions, newest first.
func detailOf(b *task.Behavior) (*api.BehaviorDetail, error) {
	d := &api.BehaviorDetail{Behavior: behaviorOf(b), Manifest: json.RawMessage("{}"), Versions: []api.BehaviorVersion{}}
	if v, ok := b.Find(""); ok {
		shown, err := policy.Manifest(b.Name, v)
		if err != nil {
			return nil, api.NewError(api.CodeInternal, "show the manifest: %v", err)
		}
		d.Module, d.Manifest = v.Module, shown
	}
	for _, v := range slices.Backward(b.Versions) {
		d.Versions = append(d.Versions, api.BehaviorVersion{
			Version: v.Version, Module: v.Module, Active: v.Version == b.Active, ActivatedAt: api.TimeOf(int64(v.ActivatedAt)),
		})
	}
	return d, nil
}

// Behaviors implements api.Service.
func (svc *Service) Behaviors(ctx context.Context, namespace string) ([]api.Behavior, error) {
	out := []api.Behavior{}
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		for _, b := range m.Behaviors(namespace) {
			out = append(out, behaviorOf(b))
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Behavior implements api.Service.
func (svc *Service) Behavior(ctx context.Context, namespace, name string) (*api.BehaviorDetail, error) {
	var b *task.Behavior
	if err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) { b = m.Behavior(namespace, name) }); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, api.NewError(api.CodeBehaviorNotFound, "no behavior %.130s", name)
	}
	return detailOf(b)
}

// BehaviorStats implements api.Service.
func (svc *Service) BehaviorStats(ctx context.Context, namespace, name string) (*api.BehaviorStats, error) {
	var s task.BehaviorStats
	known := false
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		if known = m.Behavior(namespace, name) != nil; known {
			s = m.BehaviorStats(namespace, name)
		}
	})
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, api.NewError(api.CodeBehaviorNotFound, "no behavior %.130s", name)
	}
	return &api.BehaviorStats{Due: s.Due, Delayed: s.Delayed, Running: s.Running, Retrying: s.Retrying, Oldest: view.Time(s.Oldest)}, nil
}

// behavior finds a behavior. A behavior that this node does not know may have been pushed through another node a moment
// ago, so a 404 takes a linearizable read (SPEC W4, I5).
func (svc *Service) behavior(ctx context.Context, namespace, name string) (b *task.Behavior, err error) {
	c := checks{looks: looks{svc: svc}}
	err = c.twice(ctx, func() (err error) {
		b, _, err = svc.active(namespace, name)
		return err
	})
	return b, err
}

// behaviorName checks the two parts of a behavior's name.
func behaviorName(namespace, name string) (string, error) {
	if namespace == "" {
		namespace = task.DefaultNamespace
	}
	return namespace, api.CheckBehaviorName("name", name)
}

// userBehavior is behaviorName for requests that may not touch the system's behaviors (SPEC N1).
func userBehavior(namespace, name string) (string, error) {
	if err := api.CheckUserNamespace(namespace); err != nil {
		return namespace, err
	}
	return behaviorName(namespace, name)
}

// PutBehavior implements api.Service. The version is a hash of the definition in its canonical form. So the same
// definition is the same version, and putting it again changes nothing (SPEC B2, J1).
func (svc *Service) PutBehavior(ctx context.Context, r api.PutBehaviorRequest) (*api.PutBehaviorReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	x, err := manifest.ParseExternal(r.Name, r.Policy)
	if err != nil {
		return nil, policyError(err)
	}
	settings := x.Settings()
	canonical, err := x.Canonical()
	if err != nil {
		return nil, api.NewError(api.CodeInternal, "write the definition: %v", err)
	}
	sum := sha256.Sum256(append([]byte("external\x00"), canonical...))
	res, err := svc.proposeOne(ctx, task.PutBehavior{
		Namespace: r.Namespace, Name: r.Name, Version: hex.EncodeToString(sum[:]), Policy: policy.Of(settings),
	})
	if err != nil {
		return nil, err
	}
	d, err := detailOf(res.Behavior)
	return &api.PutBehaviorReply{Behavior: d, Created: res.Outcome == task.SubmitCreated}, err
}

// policyError turns an error in a definition into a 400 that names the field, because the definition is a JSON body, no
// upload.
func policyError(err error) error {
	e := view.Error(uploadError(err))
	if e.Code != string(upload.BadManifest) {
		return e
	}
	bad := api.FieldError(api.CodeInvalidField, e.Field, "%s", e.Detail)
	bad.Limit = e.Limit
	return bad
}

// DeleteBehavior implements api.Service (SPEC B8).
func (svc *Service) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	namespace, err := userBehavior(namespace, name)
	if err != nil {
		return err
	}
	_, err = svc.proposeOne(ctx, task.DeleteBehavior{Namespace: namespace, Name: name, Purge: purge})
	if err == nil && purge {
		svc.hurry(ctx)
	}
	return err
}

// maxVersionName bounds the name of a version in a request. Versions are SHA-256 in hex.
const maxVersionName = 64

// ActivateVersion implements api.Service; this is how a rollback is done (SPEC B2).
func (svc *Service) ActivateVersion(ctx context.Context, namespace, name, version string) (*api.BehaviorDetail, error) {
	namespace, err := userBehavior(namespace, name)
	if err != nil {
		return nil, err
	}
	if version == "" || len(version) > maxVersionName {
		return nil, api.FieldError(api.CodeInvalidField, "version", "must be 1 to %d characters", maxVersionName)
	}
	return svc.changeBehavior(ctx, task.ActivateVersion{Namespace: namespace, Name: name, Version: version})
}

// PauseBehavior implements api.Service (SPEC L10).
func (svc *Service) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*api.BehaviorDetail, error) {
	namespace, err := behaviorName(namespace, name)
	if err != nil {
		return nil, err
	}
	return svc.changeBehavior(ctx, task.PauseBehavior{Namespace: namespace, Name: name, Paused: paused})
}

func (svc *Service) changeBehavior(ctx context.Context, cmd task.Command) (*api.BehaviorDetail, error) {
	res, err := svc.proposeOne(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return detailOf(res.Behavior)
}

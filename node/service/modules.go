package service

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/policy"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/task"
)

// Push implements api.Service: it checks everything, stores the file on a majority, and activates in one log entry
// (SPEC B2). If anything is wrong nothing changes; a file that nothing refers to is left to maintenance.
func (svc *Service) Push(ctx context.Context, r api.PushRequest) (*api.Module, error) {
	if err := api.CheckUserNamespace(r.Namespace); err != nil {
		return nil, err
	}
	if err := svc.readNamespace(ctx, &r.Namespace, func(*task.Machine) {}); err != nil {
		return nil, err
	}
	wasm, err := readModule(r)
	if err != nil {
		return nil, err
	}
	var given *manifest.Manifest
	if len(r.Manifest) > 0 {
		if given, err = manifest.Parse(r.Manifest); err != nil {
			return nil, uploadError(err)
		}
	}
	in, err := svc.modules.Inspect(ctx, wasm, given, r.Name)
	if err == nil {
		err = svc.modules.CheckGranted(r.Namespace, &in.Manifest)
	}
	if err != nil {
		return nil, uploadError(err)
	}
	cmd := task.Activate{
		Namespace: r.Namespace,
		Module:    task.Module{Digest: in.Digest, Size: in.Size, Manifest: in.ManifestJSON, Version: in.Version},
	}
	for i := range in.Manifest.Behaviors {
		s := in.Manifest.Settings(i)
		cmd.Behaviors = append(cmd.Behaviors, task.Activated{Name: s.Name, Policy: policy.Of(s)})
	}
	for _, b := range cmd.Behaviors {
		if r.May == nil {
			break
		}
		if err := r.May(b.Name); err != nil {
			return nil, err
		}
	}
	if err := svc.activate(ctx, wasm, cmd); err != nil {
		return nil, err
	}
	reply := &api.Module{Digest: in.Digest, Version: in.Version, Size: in.Size, Behaviors: []api.ModuleBehavior{}}
	for _, b := range cmd.Behaviors {
		reply.Behaviors = append(reply.Behaviors, api.ModuleBehavior{Name: b.Name, Version: in.Version, Active: true})
	}
	return reply, nil
}

func readModule(r api.PushRequest) ([]byte, error) {
	if r.Size > api.MaxModule {
		return nil, api.LimitError("wasm", api.MaxModule, "%d bytes, at most %d", r.Size, api.MaxModule)
	}
	wasm, err := io.ReadAll(io.LimitReader(r.Wasm, api.MaxModule+1))
	if api.CodeOf(err) != "" {
		return nil, err
	}
	if err != nil {
		return nil, api.NewError(api.CodeBadRequest, "reading the module: %v", err)
	}
	if len(wasm) > api.MaxModule {
		return nil, api.LimitError("wasm", api.MaxModule, "at most %d bytes", api.MaxModule)
	}
	return wasm, nil
}

func uploadError(err error) error {
	ue, ok := errors.AsType[*upload.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return api.NewError(api.CodeNotReady, "checking the module took too long")
		}
		return api.NewError(api.CodeInternal, "check the module: %v", err)
	}
	e := api.UploadError(string(ue.Code), ue.Field, ue.Message)
	e.Limit = ue.Limit
	return e
}

// pushRounds bounds how often a module is put again because maintenance dropped it before it was activated.
const pushRounds = 5

// activate stores the module's file on a majority and makes its behaviors active. A reference to a file is committed
// only when the file is there (docs/architecture.md#bytes-stay-out-of-the-log). If maintenance drops the file in
// between, it is put again.
func (svc *Service) activate(ctx context.Context, wasm []byte, cmd task.Activate) error {
	b, err := svc.files.StageBytes(wasm)
	if err != nil {
		return blobError(err)
	}
	defer b.Close()
	cmd.Noted = true
	for range pushRounds {
		if err = svc.putBlob(ctx, b); err != nil {
			return err
		}
		// To push a module again that is no longer active makes it active again. So a push that was sent twice must not
		// undo a later push.
		if _, err = svc.proposeOne(ctx, cmd); api.CodeOf(err) != string(task.BlobGone) {
			return err
		}
	}
	return err
}

// Modules implements api.Service.
func (svc *Service) Modules(ctx context.Context, namespace string) ([]api.Module, error) {
	out := []api.Module{}
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		for _, mod := range m.Modules() {
			if am := moduleOf(m, namespace, mod); len(am.Behaviors) > 0 {
				out = append(out, am)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Module implements api.Service.
func (svc *Service) Module(ctx context.Context, namespace, digest string) (*api.Module, error) {
	var out *api.Module
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		if mod := m.Module(digest); mod != nil {
			am := moduleOf(m, namespace, mod)
			out = &am
		}
	})
	if err != nil {
		return nil, err
	}
	if out == nil || len(out.Behaviors) == 0 {
		return nil, api.NewError(api.CodeModuleNotFound, "no module %.80s", digest)
	}
	return out, nil
}

// moduleOf lists the behaviors of a namespace that have a version in the module.
func moduleOf(m *task.Machine, namespace string, mod *task.Module) api.Module {
	am := api.Module{Digest: mod.Digest, Version: mod.Version, Size: mod.Size, Behaviors: []api.ModuleBehavior{}}
	for _, b := range m.Behaviors(namespace) {
		for _, v := range slices.Backward(b.Versions) {
			if v.Module == mod.Digest {
				am.Behaviors = append(am.Behaviors, api.ModuleBehavior{Name: b.Name, Version: v.Version, Active: v.Version == b.Active})
			}
		}
	}
	return am
}

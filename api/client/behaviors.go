package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Behaviors implements Service.
func (c *Client) Behaviors(ctx context.Context, namespace string) ([]api.Behavior, error) {
	var answer codec.BehaviorsAnswer
	err := c.read(ctx, "/v1/behaviors", inNamespace(namespace), &answer)
	return answer.Behaviors, err
}

// Behavior implements Service.
func (c *Client) Behavior(ctx context.Context, namespace, name string) (*api.BehaviorDetail, error) {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer codec.BehaviorAnswer
	err := c.read(ctx, behaviorURL(name), inNamespace(namespace), &answer)
	return answer.Behavior, err
}

func behaviorURL(name string) string { return "/v1/behaviors/" + url.PathEscape(name) }

// PutBehavior implements Service.
func (c *Client) PutBehavior(ctx context.Context, r api.PutBehaviorRequest) (*api.PutBehaviorReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer api.PutBehaviorReply
	got, err := c.do(ctx, call{
		method: http.MethodPut, path: behaviorURL(r.Name), query: inNamespace(r.Namespace), contentType: codec.JSONMedia, body: r.Policy, resend: true,
	}, &answer)
	if err != nil {
		return nil, err
	}
	answer.Created = got.status == http.StatusCreated
	return &answer, nil
}

// DeleteBehavior implements Service.
func (c *Client) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return err
	}
	q := inNamespace(namespace)
	if purge {
		q.Set("purge", "true")
	}
	got, err := c.do(ctx, call{method: http.MethodDelete, path: behaviorURL(name), query: q, resend: true}, nil)
	if got.maybe && api.CodeOf(err) == api.CodeBehaviorNotFound {
		return nil // the first request has deleted it
	}
	return err
}

// ActivateVersion implements Service.
func (c *Client) ActivateVersion(ctx context.Context, namespace, name, version string) (*api.BehaviorDetail, error) {
	return c.changeBehavior(ctx, namespace, name, "/activate", codec.ActivateBody{Version: version})
}

// PauseBehavior implements Service.
func (c *Client) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*api.BehaviorDetail, error) {
	if paused {
		return c.changeBehavior(ctx, namespace, name, "/pause", struct{}{})
	}
	return c.changeBehavior(ctx, namespace, name, "/resume", struct{}{})
}

func (c *Client) changeBehavior(ctx context.Context, namespace, name, what string, body any) (*api.BehaviorDetail, error) {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer codec.BehaviorAnswer
	_, err := c.post(ctx, behaviorURL(name)+what, inNamespace(namespace), body, &answer, true)
	return answer.Behavior, err
}

// BehaviorStats implements Service.
func (c *Client) BehaviorStats(ctx context.Context, namespace, name string) (*api.BehaviorStats, error) {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer api.BehaviorStats
	if err := c.read(ctx, behaviorURL(name)+"/stats", inNamespace(namespace), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

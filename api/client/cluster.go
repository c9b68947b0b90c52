package client

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Cluster implements Service.
func (c *Client) Cluster(ctx context.Context) (*api.Cluster, error) {
	var answer api.Cluster
	if err := c.read(ctx, "/v1/cluster", nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Ready implements Service. It returns nil if some node is ready.
func (c *Client) Ready(ctx context.Context) error {
	return c.read(ctx, "/readyz", nil, nil)
}

// Workers implements Service.
func (c *Client) Workers(ctx context.Context) ([]api.Worker, error) {
	var answer codec.WorkersAnswer
	err := c.read(ctx, "/v1/workers", nil, &answer)
	return answer.Workers, err
}

// Drain implements Service.
func (c *Client) Drain(ctx context.Context, node string, drain bool) (*api.Node, error) {
	if err := api.CheckNode(node); err != nil {
		return nil, err
	}
	var answer codec.NodeAnswer
	_, err := c.post(ctx, "/v1/cluster/members/"+url.PathEscape(node)+"/drain", nil, codec.DrainBody{Drain: &drain}, &answer, true)
	return answer.Node, err
}

// OpenAPI returns the OpenAPI document of the server that answers.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	var answer json.RawMessage
	err := c.read(ctx, "/openapi.json", nil, &answer)
	return answer, err
}

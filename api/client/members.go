package client

import (
	"context"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/membership"
)

// Members changes a cluster's members over HTTP (SPEC C2). It is safe for concurrent use. Every action is sent again if its outcome is unknown,
// because what is settled already changes nothing. A transfer to the most current member is not.
type Members struct{ client *Client }

var _ membership.Members = (*Members)(nil)

// NewMembers changes members through a Client, which the caller keeps open and closes.
func NewMembers(c *Client) *Members { return &Members{c} }

// Change implements membership.Members.
func (m *Members) Change(ctx context.Context, node string, a membership.Action, r membership.MemberRequest) (*membership.MemberReply, error) {
	if err := r.Check(node, a); err != nil {
		return nil, err
	}
	var answer membership.MemberReply
	sent, err := m.client.post(ctx, "/v1/cluster/members/"+url.PathEscape(node)+"/"+string(a), nil, r, &answer, true)
	if a == membership.Remove && sent != nil && sent.maybe && api.CodeOf(err) == api.CodeMemberNotFound {
		return &membership.MemberReply{Node: &api.Node{ID: node, Role: membership.Removed}, Done: true}, nil // the first request has removed it
	}
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// Transfer implements membership.Members.
func (m *Members) Transfer(ctx context.Context, r membership.LeaderRequest) (*membership.LeaderReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer membership.LeaderReply
	if _, err := m.client.post(ctx, "/v1/cluster/transfer", nil, r, &answer, r.To != ""); err != nil {
		return nil, err
	}
	return &answer, nil
}

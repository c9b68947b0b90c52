package apitest_test

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/membership"
)

// two is the Members of a cluster of n1 and n2.
type two struct{}

func (two) Change(_ context.Context, node string, a membership.Action, r membership.MemberRequest) (*membership.MemberReply, error) {
	if err := r.Check(node, a); err != nil {
		return nil, err
	}
	if node != "n1" && node != "n2" {
		return nil, api.NewError(api.CodeMemberNotFound, "no member %s", node)
	}
	if a != membership.Approve && !r.Force {
		return nil, api.NewError(api.CodeNoMajority, "one of two who vote would be left")
	}
	return &membership.MemberReply{Node: &api.Node{ID: node, Role: "follower", Vote: "voter", Voter: true}, Done: true}, nil
}

func (two) Transfer(_ context.Context, r membership.LeaderRequest) (*membership.LeaderReply, error) {
	return &membership.LeaderReply{Leader: r.To}, r.Check()
}

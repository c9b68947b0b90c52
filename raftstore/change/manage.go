package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/task/roster"
)

// Rules are what the log has settled about members.
type Rules interface {
	// Member returns what is settled about a node. known is false below the feature level that knows it.
	Member(node string) (x roster.Member, known bool)
	// Settle says that a node may vote. It runs on the leader.
	Settle(ctx context.Context, node string) error
}

// The rules by which the configuration changes.
const (
	promoteEvery = 250 * time.Millisecond // looks at a newcomer that comes to vote
	promoteLag   = 256                    // so many entries behind still counts as caught up
	promoteAfter = 3                      // so many checks in a row must succeed
	manageEvery  = 5 * time.Second        // looks at those who do not vote
	forgetAfter  = time.Hour              // a node that neither votes nor answers for so long is forgotten
)

// manager makes the configuration what is settled, on the leader.
type manager struct {
	*Changes
	good   map[string]int       // checks in a row at which a newcomer had caught up, by identity
	silent map[string]time.Time // since when a node without a vote has not answered, by identity
}

// Manage promotes newcomers that may vote and have caught up, demotes and removes who was demoted and removed, and forgets those who do not
// vote and are gone, until ctx ends. It runs on the leader.
func (m *Changes) Manage(ctx context.Context) {
	g := manager{m, map[string]int{}, map[string]time.Time{}}
	for {
		var timer <-chan time.Time
		soon := false
		for _, srv := range m.c.Raft.Servers() {
			again, err := g.look(ctx, srv)
			if err != nil && ctx.Err() == nil {
				m.c.Logger.Warn("cannot change the members yet", "node", srv.ID, "err", err)
			}
			soon = soon || again || err != nil
			if srv.Suffrage != raft.Voter || err != nil {
				timer = time.After(manageEvery)
			}
		}
		if soon {
			timer = time.After(promoteEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-m.c.Changed:
		}
	}
}

// look makes the change that a server needs. again says that look must be called for it again soon.
func (g *manager) look(ctx context.Context, srv raft.Server) (again bool, err error) {
	x, known := g.c.Rules.Member(string(srv.ID))
	votes := srv.Suffrage == raft.Voter
	switch {
	case !known:
		x.Vote = roster.Voter
	case x.Gone(members.InstanceOf(string(srv.Address))):
		return true, g.step(ctx, srv, x, "node removed", g.removal(srv))
	case votes && x.Vote == roster.Held:
		return true, g.step(ctx, srv, x, "node demoted", func() raft.Future { return g.c.Raft.DemoteVoter(srv.ID, 0, g.c.RPCTimeout/2) })
	case votes && x.Vote == roster.Newcomer: // it has voted since before anything was settled
		return true, g.c.Rules.Settle(ctx, string(srv.ID))
	}
	if votes {
		return false, nil
	}
	return g.nonvoter(ctx, srv, x.Vote == roster.Voter)
}

// step takes a voter, or a newcomer, out. A leader hands over first.
func (g *manager) step(ctx context.Context, srv raft.Server, x roster.Member, done string, change func() raft.Future) error {
	g.c.OneByOne.Lock()
	defer g.c.OneByOne.Unlock()
	if srv.Suffrage == raft.Voter && !x.Force {
		if err := g.bears(ctx, string(srv.Address)); err != nil {
			return err
		}
	}
	if string(srv.Address) == g.c.Identity {
		return g.c.Raft.Ask(g.c.Raft.LeadershipTransfer)
	}
	if err := g.c.Raft.Ask(change); err != nil {
		return err
	}
	g.c.Logger.Info(done, "node", srv.ID)
	return nil
}

func (g *manager) removal(srv raft.Server) func() raft.Future {
	return func() raft.Future { return g.c.Raft.RemoveServer(srv.ID, 0, g.c.RPCTimeout/2) }
}

// nonvoter promotes a newcomer that may vote and has caught up, and forgets one that is gone.
func (g *manager) nonvoter(ctx context.Context, srv raft.Server, may bool) (again bool, err error) {
	identity := string(srv.Address)
	a, err := g.c.Health(ctx, identity)
	if err != nil || a.Stopped {
		g.good[identity] = 0
		if g.silent[identity].IsZero() {
			g.silent[identity] = time.Now()
		}
		if time.Since(g.silent[identity]) < forgetAfter {
			return may, nil
		}
		delete(g.silent, identity)
		return true, g.step(ctx, srv, roster.Member{}, "node forgotten: it does not vote, and is gone", g.removal(srv))
	}
	delete(g.silent, identity)
	switch {
	case !may:
		return false, nil
	case a.Applied+promoteLag < g.c.Raft.CommitIndex():
		g.good[identity] = 0
		return true, nil
	}
	if g.good[identity]++; g.good[identity] < promoteAfter {
		return true, nil
	}
	if why := g.alone(ctx); why != "" {
		g.c.Logger.Info("a newcomer has caught up, and does not vote yet", "node", srv.ID, "reason", why)
		return false, nil
	}
	delete(g.good, identity)
	g.c.OneByOne.Lock()
	defer g.c.OneByOne.Unlock()
	if err := g.c.Raft.Ask(func() raft.Future { return g.c.Raft.AddVoter(srv.ID, srv.Address, 0, g.c.RPCTimeout/2) }); err != nil {
		return true, fmt.Errorf("promote: %w", err)
	}
	g.c.Logger.Info("node promoted to voter", "node", srv.ID)
	return false, nil
}

// alone says why the majority would depend on one more voter alone: some voters are away. It returns "" if no voter is away.
func (m *Changes) alone(ctx context.Context) string {
	voters, away := m.poll(ctx, "")
	if majority := (voters+1)/2 + 1; len(away) == 0 || voters-len(away) >= majority {
		return ""
	}
	return strings.Join(away, " and ") + " do not answer, so the majority would depend on the newcomer alone; remove who does not come back"
}

// bears returns an error unless a majority of the voters without one of them is alive.
func (m *Changes) bears(ctx context.Context, without string) error {
	voters, away := m.poll(ctx, without)
	switch {
	case voters == 0:
		return &MajorityError{"nobody who votes would be left"}
	case 2*(voters-len(away)) <= voters:
		return &MajorityError{fmt.Sprintf("without it %d of %d who vote would be alive, which is no majority: %s does not answer", voters-len(away), voters, strings.Join(away, " and "))}
	}
	return nil
}

// MajorityError says why a change would leave no majority alive.
type MajorityError struct{ Why string }

// Error implements error.
func (e *MajorityError) Error() string { return e.Why }

// poll asks all voters but one how they are. It returns how many these are, this node included, and the IDs of those that do not answer, sorted.
func (m *Changes) poll(ctx context.Context, without string) (voters int, away []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, srv := range m.c.Raft.Servers() {
		identity := string(srv.Address)
		if srv.Suffrage != raft.Voter || identity == without {
			continue
		}
		if voters++; identity == m.c.Identity {
			continue
		}
		wg.Go(func() {
			if a, err := m.c.Health(ctx, identity); err == nil && !a.Stopped {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			away = append(away, string(srv.ID))
		})
	}
	wg.Wait()
	slices.Sort(away)
	return voters, away
}

package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// TestVotes: what is said about a node's vote, also when a server of 0.1.0 has answered, which does not know who votes.
func TestVotes(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []api.Node
		want  string
	}{
		"voters":                  {[]api.Node{{ID: "n1", Role: "leader", Voter: true}, {ID: "n2", Role: "unreachable", Voter: true}}, "yes yes"},
		"a newcomer":              {[]api.Node{{ID: "n1", Role: "leader", Voter: true}, {ID: "n2", Role: "nonvoter", Vote: "newcomer"}}, "yes when approved"},
		"one that catches up":     {[]api.Node{{ID: "n1", Role: "leader", Voter: true}, {ID: "n2", Role: "nonvoter"}}, "yes when caught up"},
		"held":                    {[]api.Node{{ID: "n1", Role: "nonvoter", Vote: "held"}}, "held"},
		"by the word of 0.1.0":    {[]api.Node{{ID: "n1", Role: "leader"}, {ID: "n2", Role: "unreachable"}, {ID: "n3", Role: "nonvoter"}}, "- - -"},
		"of one by that of 0.1.0": {[]api.Node{{ID: "n1", Role: "follower"}}, "-"},
		"of one that has no vote": {[]api.Node{{ID: "n1", Role: "nonvoter"}}, "when caught up"},
	} {
		var b bytes.Buffer
		if err := terminal.New(&b).Table(func(w *terminal.Table) { Nodes(w, c.nodes) }); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		column, behind := strings.Index(lines[0], "VOTE"), strings.Index(lines[0], "HTTP")
		var got []string
		for _, line := range lines[1:] {
			got = append(got, strings.TrimSpace(line[column:behind]))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

package scale_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/scale"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/scale.md anew")

const page = "../../docs/scale.md"

// TestPage: the tables of the page are what the model says. `go test ./internal/scale -run TestPage -rewrite` writes them.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, table := range map[string]string{"clusters": clusters(t), "workers": workers(t), "groups": ends(t), "costs": costTable(t)} {
		begin, end := "<!-- "+name+": made by go test ./internal/scale -run TestPage -rewrite -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("the page has no place for %s", name)
		}
		text = before + begin + table + end + after
	}
	if text == string(raw) {
		return
	}
	if !*rewrite {
		t.Fatal("the page does not show what the model says: go test ./internal/scale -run TestPage -rewrite")
	}
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// machines are the clusters of the page's first table.
func machines() []struct {
	name string
	scale.Cluster
} {
	make := func(nodes int, cores float64, write, rtt time.Duration) scale.Cluster {
		return scale.Cluster{
			Nodes: nodes, Hosts: scale.Apart(nodes, cores), Write: write, RTT: rtt, Near: rtt, Mbit: 10_000, Workers: nodes, Slots: int(4 * cores),
		}
	}
	const ms = time.Millisecond
	return []struct {
		name string
		scale.Cluster
	}{
		{"3 nodes of 2 cores, NVMe (0.2 ms), one rack (0.1 ms)", make(3, 2, ms/5, ms/10)},
		{"3 of 4 cores", make(3, 4, ms/5, ms/10)},
		{"3 of 16 cores", make(3, 16, ms/5, ms/10)},
		{"5 of 4 cores", make(5, 4, ms/5, ms/10)},
		{"3 of 4 cores, network disks (4 ms), three zones (1 ms)", make(3, 4, 4*ms, ms)},
		{"3 of 4 cores, hard disks (20 ms), one rack", make(3, 4, 20*ms, ms/10)},
		{"3 of 4 cores, NVMe, three regions (30 ms)", make(3, 4, ms/5, 30*ms)},
	}
}

func clusters(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| cluster | submit: 1 caller | 16 | 256 | 2,000 | batches of 1,000, 16 callers | to the result: 256 callers | queued until done |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range machines() {
		fmt.Fprintf(&b, "| %s", m.name)
		for _, w := range []scale.Work{
			{Kind: scale.Submit, Callers: 1, Params: 256}, {Kind: scale.Submit, Callers: 16, Params: 256}, {Kind: scale.Submit, Callers: 256, Params: 256},
			{Kind: scale.Submit, Callers: 2000, Params: 256}, {Kind: scale.Submit, Callers: 16, Params: 256, Batch: 1000},
			{Kind: scale.Run, Callers: 256, Params: 256}, {Kind: scale.Drain, Params: 256},
		} {
			p := predict(t, m.Cluster, w)
			fmt.Fprintf(&b, " | %s", rate(p.Rate))
			if p.P50 > 0 {
				fmt.Fprintf(&b, "; %s ms", short(float64(p.P50.Microseconds())/1000))
			}
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// short is a number with two digits that count, or three.
func short(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// rate is a number with two digits that count, and a comma before each thousand.
func rate(x float64) string {
	unit := 1.0
	for x/unit >= 100 {
		unit *= 10
	}
	text := fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func workers(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| guests take | 1 worker | 10 | 50 | 200 | the limit with 1; with 200 |\n|---|---|---|---|---|---|\n")
	for _, guest := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		fmt.Fprintf(&b, "| %v", guest)
		var limits []string
		for _, n := range []int{1, 10, 50, 200} {
			c := scale.Cluster{
				Nodes: 3, Hosts: scale.Beside(3, 4, n, 4), Write: time.Millisecond / 5, RTT: time.Millisecond / 10, Mbit: 10_000, Workers: n, Slots: 16,
			}
			p := predict(t, c, scale.Work{Kind: scale.Drain, Params: 256, Guest: guest})
			limits = append(limits, p.Limit)
			fmt.Fprintf(&b, " | %s", rate(p.Rate))
		}
		fmt.Fprintf(&b, " | %s; %s |\n", limits[0], limits[3])
	}
	return b.String()
}

// ends is where one group ends: with as many callers as it takes, how much of each thing is in use.
func ends(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| three nodes, NVMe, one rack, 10 Gbit/s | a second | the limit | next: part in use |\n|---|---|---|---|\n")
	for _, cores := range []float64{2, 4, 8, 16, 32} {
		for _, w := range []struct {
			name string
			scale.Work
		}{
			{"submits by 10,000 callers", scale.Work{Kind: scale.Submit, Callers: 10_000, Params: 256}},
			{"batches of 1,000", scale.Work{Kind: scale.Submit, Callers: 64, Batch: 1000, Params: 256}},
			{"queued until done, guests elsewhere", scale.Work{Kind: scale.Drain, Params: 256}},
		} {
			c := scale.Cluster{
				Nodes: 3, Hosts: scale.Beside(3, cores, 50, 16), Write: time.Millisecond / 5, RTT: time.Millisecond / 10, Mbit: 10_000, Workers: 50, Slots: 64,
			}
			p := predict(t, c, w.Work)
			var next scale.Use
			for _, u := range p.Use {
				if u.Part > next.Part && u.Name != p.Limit {
					next = u
				}
			}
			fmt.Fprintf(&b, "| %g cores, %s | %s | %s | %s: %.0f %% |\n", cores, w.name, rate(p.Rate), p.Limit, next.Name, 100*next.Part)
		}
	}
	return b.String()
}

// costTable is the costs in words.
func costTable(t *testing.T) string {
	k := costs(t)
	var b strings.Builder
	b.WriteString("| µs of CPU | a task | a request | a group | a group, for each follower | a KiB of params |\n|---|---|---|---|---|---|\n")
	for _, load := range []struct {
		name string
		scale.Roles
	}{{"submit, over a stream", k.Stream}, {"submit, by HTTP", k.HTTP}, {"submit to the result", k.E2E}, {"a queued task, until done", k.Drain}} {
		for _, role := range []struct {
			name string
			scale.Cost
		}{{"leader", load.Leader}, {"a follower", load.Follower}, {"callers", load.Callers}, {"guests", load.Guests}} {
			fmt.Fprintf(&b, "| %s: %s | %.3g | %.3g | %.3g | %.3g | %.3g |\n", load.name, role.name, role.Task, role.Request, role.Entry, role.Send, role.KiB)
		}
	}
	return b.String()
}

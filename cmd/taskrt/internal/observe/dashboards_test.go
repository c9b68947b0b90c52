package observe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// model is what Grafana reads of a dashboard.
type model struct {
	UID           string
	Title         string
	SchemaVersion int
	Tags          []string
	Time          struct{ From, To string }
	Templating    struct {
		List []struct {
			Name, Type, Definition, AllValue string
			Query                            json.RawMessage
			Datasource                       *struct{ Type, UID string }
		}
	}
	Panels []struct {
		ID          int
		Title, Type string
		GridPos     struct{ H, W, X, Y int }
		Datasource  *struct{ Type, UID string }
		Targets     []struct {
			Expr, LegendFormat, RefID string
			Exemplar                  bool
			Datasource                struct{ Type, UID string }
		}
		FieldConfig struct {
			Defaults  struct{ Unit string }
			Overrides []any
		}
	}
}

// TestDashboards: each dashboard is what Grafana imports: a name and an ID of its own, a data source that the reader chooses, variables that
// are there and used, panels that do not lie over each other (SPEC U2).
func TestDashboards(t *testing.T) {
	uids := map[string]bool{}
	for _, d := range Dashboards() {
		t.Run(d.name, func(t *testing.T) {
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var m model
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`).MatchString(m.UID) || uids[m.UID] || m.Title == "" || m.SchemaVersion < 36 || m.Time.From == "" || len(m.Tags) == 0 {
				t.Errorf("%s %q, version %d", m.UID, m.Title, m.SchemaVersion)
			}
			uids[m.UID] = true
			checkVariables(t, &m, string(text))
			checkPanels(t, &m)
		})
	}
}

func checkVariables(t *testing.T, m *model, text string) {
	t.Helper()
	vars := []string{"__rate_interval"}
	for i, v := range m.Templating.List {
		vars = append(vars, v.Name)
		switch {
		case i == 0:
			if v.Name != "datasource" || v.Type != "datasource" || string(v.Query) != `"prometheus"` {
				t.Errorf("the first variable is %s %s of %s", v.Name, v.Type, v.Query)
			}
		case v.Type != "query" || v.Datasource == nil || v.Datasource.UID != "${datasource}" || v.AllValue != ".*":
			t.Errorf("variable %s: %+v", v.Name, v)
		default:
			of := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
			if of == nil || of[2] != v.Name || !strings.Contains(string(v.Query), of[1]) {
				t.Fatalf("variable %s: %s", v.Name, v.Definition)
			}
			named(t.Errorf, "variable "+v.Name, "sum by ("+of[2]+") ("+of[1]+")")
			if !strings.Contains(text, v.Name+`=~\"$`+v.Name+`\"`) {
				t.Errorf("nothing asks for the variable %s", v.Name)
			}
		}
	}
	for _, used := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(vars, used[1]) {
			t.Errorf("there is no variable %s", used[1])
		}
	}
}

func checkPanels(t *testing.T, m *model) {
	t.Helper()
	taken, ids := map[string]string{}, map[int]bool{}
	for _, p := range m.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, " ", y)
				if taken[at] != "" || x >= gridWidth {
					t.Fatalf("%q lies over %q, or outside", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			if len(p.Targets) > 0 || p.GridPos.W != gridWidth {
				t.Errorf("row %q: %+v", p.Title, p)
			}
			continue
		}
		if p.Type != "timeseries" && p.Type != "stat" || p.Datasource == nil || p.FieldConfig.Defaults.Unit == "" || p.FieldConfig.Overrides == nil || len(p.Targets) == 0 {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		for i, q := range p.Targets {
			if strings.Contains(q.Expr, "quantile(0.99, ") && strings.Contains(q.Expr, "t_duration_seconds") && !q.Exemplar {
				t.Errorf("panel %q does not show traces", p.Title)
			}
			if q.RefID != string(rune('A'+i)) || q.Datasource.UID != "${datasource}" || !strings.Contains(q.Expr, ofCluster) {
				t.Errorf("panel %q: %+v", p.Title, q)
			}
		}
	}
}

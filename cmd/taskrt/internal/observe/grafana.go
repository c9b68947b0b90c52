package observe

// These are the parts of Grafana's model of a dashboard that are used here.

// Dashboard is a dashboard of Grafana. Its JSON is what Grafana imports or provisions.
type Dashboard struct {
	name string // of its file and on the command line

	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	Timezone      string     `json:"timezone"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: a cursor for all panels
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Templating    templating `json:"templating"`
	Links         []dashLink `json:"links"`
	Panels        []*panel   `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

// variable is chosen at the top of a dashboard.
type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"` // datasource or query
	Query      any         `json:"query"`
	Definition string      `json:"definition,omitempty"`
	Datasource *datasource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh,omitempty"` // 2: whenever the range of time changes
	Sort       int         `json:"sort,omitempty"`    // 1: by name
	Multi      bool        `json:"multi,omitempty"`
	IncludeAll bool        `json:"includeAll,omitempty"`
	AllValue   string      `json:"allValue,omitempty"`
}

type labelQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// chosen is the data source that the reader has chosen.
var chosen = &datasource{"prometheus", "${datasource}"}

type dashLink struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Tags        []string `json:"tags"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

type panel struct {
	ID          int          `json:"id"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	Type        string       `json:"type"` // row, timeseries or stat
	GridPos     gridPos      `json:"gridPos"`
	Collapsed   *bool        `json:"collapsed,omitempty"`
	Panels      *[]*panel    `json:"panels,omitempty"` // of a row that is collapsed
	Datasource  *datasource  `json:"datasource,omitempty"`
	Targets     []query      `json:"targets,omitempty"`
	FieldConfig *fieldConfig `json:"fieldConfig,omitempty"`
	Options     any          `json:"options,omitempty"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type query struct {
	Datasource *datasource `json:"datasource"`
	Expr       string      `json:"expr"`
	Legend     string      `json:"legendFormat"`
	RefID      string      `json:"refId"`
	Exemplar   bool        `json:"exemplar,omitempty"` // show the traces of single attempts and requests
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit string   `json:"unit"`
	Min  *float64 `json:"min,omitempty"`
}

// layout places panels from the left to the right, row by row.
type layout struct {
	panels []*panel
	x, y   int
}

const (
	gridWidth   = 24
	panelWidth  = 8
	panelHeight = 7
)

// row begins a part of the dashboard.
func (l *layout) row(title string) {
	if l.x > 0 {
		l.x, l.y = 0, l.y+panelHeight
	}
	open := false
	l.panels = append(l.panels, &panel{ID: len(l.panels) + 1, Title: title, Type: "row", GridPos: gridPos{1, gridWidth, 0, l.y}, Collapsed: &open, Panels: &[]*panel{}})
	l.y++
}

// add places a panel.
func (l *layout) add(p *panel) {
	if l.x+panelWidth > gridWidth {
		l.x, l.y = 0, l.y+panelHeight
	}
	p.ID, p.GridPos, p.Datasource = len(l.panels)+1, gridPos{panelHeight, panelWidth, l.x, l.y}, chosen
	for i := range p.Targets {
		p.Targets[i].Datasource, p.Targets[i].RefID = chosen, string(rune('A'+i))
	}
	l.panels = append(l.panels, p)
	l.x += panelWidth
}

package show

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Behavior shows a behavior, its versions and its manifest.
func Behavior(w *terminal.Table, b *api.BehaviorDetail) {
	w.Field("name", b.Name)
	w.Field("kind", b.Kind)
	w.Field("version", Digest(b.Version))
	w.Field("module", OrDash(Digest(b.Module)))
	w.Field("paused", b.Paused)
	for _, v := range b.Versions {
		active := ""
		if v.Active {
			active = ", active"
		}
		w.Field("kept", fmt.Sprintf("%s of %s%s", Digest(v.Version), v.ActivatedAt, active))
	}
	var manifest bytes.Buffer
	if json.Indent(&manifest, b.Manifest, "", "  ") == nil {
		w.Field("manifest", "")
		w.Block(manifest.String())
	}
}

// Behaviors lists behaviors.
func Behaviors(w *terminal.Table, all []api.Behavior) {
	List(w, all, true, []Column[api.Behavior]{
		{Name: "NAME", Cell: func(b api.Behavior) any { return b.Name }},
		{Name: "VERSION", Cell: func(b api.Behavior) any { return Digest(b.Version) }},
		{Name: "KIND", Cell: func(b api.Behavior) any { return b.Kind }},
		{Name: "PAUSED", Cell: func(b api.Behavior) any { return b.Paused }},
		{Name: "FULL-VERSION", Wide: true, Cell: func(b api.Behavior) any { return b.Version }},
	})
}

package wasmbin

import (
	"encoding/binary"
	"slices"
)

// AppendCustom returns wasm with a custom section added at its end.
func AppendCustom(wasm []byte, name string, content []byte) []byte {
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(body, name...)
	body = append(body, content...)
	out := append(slices.Clone(wasm), SectionCustom)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...)
}

// BoundTables returns the module's bytes with every table's maximum at most MaxTableElements. Otherwise a guest could
// grow a table in host memory without limit. Nothing else changes, so offsets within functions stay the same.
func (m *Module) BoundTables() []byte {
	bounded := true
	for _, t := range m.Tables {
		bounded = bounded && t.HasMax && t.Max <= MaxTableElements
	}
	if bounded {
		return m.data
	}
	i := slices.IndexFunc(m.Sections, func(s Section) bool { return s.ID == SectionTable })
	s := m.Sections[i]
	r := &Reader{data: m.data[:s.End], Pos: s.Start}
	body := binary.AppendUvarint(nil, uint64(r.Count("tables", MaxTables)))
	for range m.Tables {
		kind := m.data[r.Pos]
		t := r.table()
		limit := uint64(MaxTableElements)
		if t.HasMax {
			limit = min(limit, t.Max)
		}
		body = append(body, kind, 1)
		body = binary.AppendUvarint(body, t.Min)
		body = binary.AppendUvarint(body, limit)
	}
	out := slices.Clone(m.data[:s.header])
	out = append(out, SectionTable)
	out = binary.AppendUvarint(out, uint64(len(body)))
	out = append(out, body...)
	return append(out, m.data[s.End:]...)
}

package task

// FieldsOf and HashTask are for tests outside of the package, which know its encoded forms.
var (
	FieldsOf = fieldsOf
	HashTask = hashTask
)

// StoreGroup collects what StoreRecords yields, at most limit records if limit is positive.
func (m *Machine) StoreGroup(namespace, group string, limit int, owned bool, at Time) (found []*StoreRecord) {
	for r := range m.StoreRecords(namespace, group, owned, at) {
		if found = append(found, r); len(found) == limit {
			break
		}
	}
	return found
}

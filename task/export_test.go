package task

// FieldsOf and HashTask are for tests outside of the package, which know its encoded forms.
var (
	FieldsOf = fieldsOf
	HashTask = hashTask
)

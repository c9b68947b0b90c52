package api

// Check refuses what the state machine would.
func (r *MaintenanceRequest) Check() error {
	if r.SupersedeRun < 0 {
		return FieldError(CodeInvalidField, "supersede_run", "a run is a positive number")
	}
	return nil
}

// CheckRun refuses what is not the number of a run.
func CheckRun(run int64) error {
	if run < 1 {
		return FieldError(CodeInvalidField, "run", "a run is a positive number")
	}
	return nil
}

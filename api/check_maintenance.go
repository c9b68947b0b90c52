package api

// Check refuses a request that the state machine would refuse.
func (r *MaintenanceRequest) Check() error {
	if r.SupersedeRun < 0 {
		return FieldError(CodeInvalidField, "supersede_run", "a run is a positive number")
	}
	return nil
}

// CheckRun refuses a number that no run has.
func CheckRun(run int64) error {
	if run < 1 {
		return FieldError(CodeInvalidField, "run", "a run is a positive number")
	}
	return nil
}

package task

// maintenanceRun reports whether token is that of the run of maintenance that is going on. Every command that deletes
// for a run asks first, and answers halt if not: who was superseded or thought dead deletes nothing (SPEC M1, M3).
func (m *Machine) maintenanceRun(token uint64) bool {
	return token != 0 && m.leased(MaintenanceKey(), token) != nil
}

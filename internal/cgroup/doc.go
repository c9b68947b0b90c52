// Package cgroup puts processes into cgroups of their own, with a limit of memory that the kernel keeps (SPEC A10), where the cgroup of this
// process was delegated to it.
package cgroup

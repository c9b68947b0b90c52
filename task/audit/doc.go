// Package audit keeps who changed what (SPEC A8): one record for each change that is made with deploy, operate or admin, and for refusals for
// lack of a role. It is as pure as package task.
package audit

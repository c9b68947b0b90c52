// Package audit keeps who changed what (SPEC A8). It has one record for each change that was made with the role deploy, operate or admin, and
// records of requests that were refused for lack of a role. Like package task it is pure.
package audit

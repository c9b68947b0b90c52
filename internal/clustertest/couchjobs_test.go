package clustertest

import "testing"

// couchJobs are the operations of CouchDB's background jobs (couch_jobs) in the form of SPEC section 8. Of its three
// states, pending means that a task has a not_before, running is RUNNING, and finished means final. accept's
// no_schedule is dropped (SPEC section 9). JobLock is the token. A job that has no token here shows the token of
// another job.
var couchJobs = table{
	file:   "couchjobs.txt",
	policy: `{"kind":"external","lease":"10s","cancel_grace":"5s"}`,
	operations: []operation{
		{"add", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new","if_exists":"resubmit"}`},
		{"add at +1h", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new","if_exists":"resubmit","not_before":"$+1h"}`},
		{"add in the past", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new","if_exists":"resubmit","not_before":"$past"}`},
		{"remove", "DELETE", "/v1/tasks/$id", ""},
		{"accept", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w","wait":"0s"}`},
		{"accept up to +2h", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w","max_not_before":"$+2h"}`},
		{"accept up to the past", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w","max_not_before":"$past"}`},
		{"update", "POST", "/v1/tasks/$id/heartbeat", `{"token":$token}`},
		{"update with data", "POST", "/v1/tasks/$id/heartbeat", `{"token":$token,"progress":"half"}`},
		{"finish", "POST", "/v1/tasks/$id/finish", `{"token":$token}`},
		{"finish with data", "POST", "/v1/tasks/$id/finish", `{"token":$token,"result":"done"}`},
		{"resubmit", "POST", "/v1/tasks/$id/resubmit", `{}`},
		{"resubmit at +1h", "POST", "/v1/tasks/$id/resubmit", `{"not_before":"$+1h"}`},
		{"timeout passes", "sleep", "10500ms", ""},
	},
	states: []state{
		{"never added", ""},
		{"pending", "first"},
		{"pending, scheduled", "first at +1h"},
		{"running", "first, taken"},
		{"running, resubmitted", "first, taken, flagged"},
		{"running, resubmitted at +1h", "first, taken, flagged +1h"},
		{"finished", "first, taken, done"},
		{"timed out", "first, taken, lease over"},
		{"timed out, running elsewhere", "first, taken, lease over, taken elsewhere"},
		{"removed while running", "first, taken, removed"},
		{"removed while running, added again", "first, taken, removed, first"},
		{"being cancelled", "first, taken, cancel asked"},
	},
}

// TestCouchJobs does every operation of couch_jobs in every state over HTTP.
func TestCouchJobs(t *testing.T) {
	for change, where := range couchJobs.run(t) {
		if !allowed[change] && change[0] != change[1] {
			t.Errorf("%s: from %s to %s (SPEC T1)", where, change[0], change[1])
		}
	}
}

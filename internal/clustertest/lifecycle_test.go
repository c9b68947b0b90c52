package clustertest

import "testing"

// lifecycle has every event of a task in every state (SPEC T1, T3).
var lifecycle = table{
	file:   "lifecycle.txt",
	policy: `{"kind":"external","lease":"10s","cancel_grace":"2s","retry":{"max_attempts":3,"initial_interval":"1m","jitter_percent":0}}`,
	operations: []operation{
		{"join", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new"}`},
		{"submit or fail", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new","if_exists":"fail"}`},
		{"rerun", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"new","if_exists":"rerun"}`},
		{"retry", "POST", "/v1/tasks/$id/retry", `{}`},
		{"retry at +1h", "POST", "/v1/tasks/$id/retry", `{"not_before":"$+1h"}`},
		{"accept", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w"}`},
		{"heartbeat", "POST", "/v1/tasks/$id/heartbeat", `{"token":$token,"progress":1}`},
		{"succeed", "POST", "/v1/tasks/$id/finish", `{"token":$token,"result":"other"}`},
		{"succeed, again at +1h", "POST", "/v1/tasks/$id/finish", `{"token":$token,"result":"other","again_at":"$+1h"}`},
		{"fail", "POST", "/v1/tasks/$id/finish", `{"token":$token,"error":{"code":"other"}}`},
		{"fail for good", "POST", "/v1/tasks/$id/finish", `{"token":$token,"error":{"code":"other","retryable":false}}`},
		{"fail, again at +1h", "POST", "/v1/tasks/$id/finish", `{"token":$token,"error":{"code":"other"},"again_at":"$+1h"}`},
		{"snooze", "POST", "/v1/tasks/$id/snooze", `{"token":$token}`},
		{"snooze to +1h", "POST", "/v1/tasks/$id/snooze", `{"token":$token,"again_at":"$+1h"}`},
		{"cancel", "POST", "/v1/tasks/$id/cancel", ""},
		{"change", "POST", "/v1/txn", `{"update":[{"id":"$id","priority":9}]}`},
		{"delay", "POST", "/v1/txn", `{"update":[{"id":"$id","not_before":"$+1h"}]}`},
		{"depend on its lease", "POST", "/v1/txn", `{"depends":[{"id":"$id","token":$token}]}`},
		{"delete", "POST", "/v1/txn", `{"delete":[{"id":"$id"}]}`},
		{"remove", "DELETE", "/v1/tasks/$id", ""},
		{"10.5 s pass", "sleep", "10500ms", ""},
	},
	states: []state{
		{"not there", ""},
		{"CREATED", "first"},
		{"CREATED, delayed", "first at +1h"},
		{"CREATED with a deadline", "first until +5s"},
		{"RUNNING", "first, taken"},
		{"RUNNING with a deadline", "first until +5s, taken"},
		{"RUNNING, being cancelled", "first, taken, cancel asked"},
		{"RUNNING, to be run again", "first, taken, flagged +1h"},
		{"SUCCESS", "first, taken, done"},
		{"SUCCESS, repeating", "first, taken, done but again"},
		{"SUCCESS, due again", "first, taken, done, flagged"},
		{"FAILURE", "first, taken, failed for good"},
		{"FAILURE, retrying", "first, taken, failed"},
		{"FAILURE, retrying with a deadline", "first, taken, failed, failed until +5s"},
		{"FAILURE, due again", "first, taken, failed for good, flagged"},
		{"FAILURE, cancelled", "first, cancel asked"},
		{"CREATED, lost", "first, taken, lease over"},
	},
}

// allowed are the changes of status of SPEC T1, with "gone". A task that is not RUNNING and has a not_before is
// waiting.
var allowed = func() map[[2]string]bool {
	m := map[[2]string]bool{}
	for from, tos := range map[string][]string{
		"gone":            {"CREATED"}, // RUNNING at once is only for wasm, because an accept is a request of its own
		"CREATED":         {"RUNNING", "FAILURE", "gone"},
		"RUNNING":         {"SUCCESS", "SUCCESS waiting", "FAILURE", "FAILURE waiting", "CREATED", "gone"},
		"SUCCESS":         {"SUCCESS waiting", "gone"},
		"SUCCESS waiting": {"RUNNING", "SUCCESS", "gone"},
		"FAILURE":         {"FAILURE waiting", "gone"},
		"FAILURE waiting": {"RUNNING", "FAILURE", "gone"},
	} {
		for _, to := range tos {
			m[[2]string{from, to}] = true
		}
	}
	return m
}()

// TestLifecycle: every allowed change of status happens, and no other change.
func TestLifecycle(t *testing.T) {
	seen := lifecycle.run(t)
	for change, where := range seen {
		if !allowed[change] && change[0] != change[1] {
			t.Errorf("%s: from %s to %s (SPEC T1)", where, change[0], change[1])
		}
	}
	for change := range allowed {
		if _, ok := seen[change]; !ok {
			t.Errorf("nothing leads from %s to %s (SPEC T1)", change[0], change[1])
		}
	}
}

package observe

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/internal/anchor"
)

// Severity says how soon somebody must look.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // now: work stands still, or data is one fault away from being lost
	Warning  Severity = "warning"  // today
	Info     Severity = "info"     // when there is time
)

// Rule is an alert.
type Rule struct {
	Alert    string
	Severity Severity
	Expr     string // PromQL. What is about a cluster is summed up by the label cluster
	For      string // how long Expr must hold
	Summary  string // what it means, for people
	Value    string // a template of the value; "": it says nothing
	Section  string // of the runbook: what to do
}

// Group is a list of rules.
type Group struct {
	Name  string
	Rules []Rule
}

// Groups returns all alerts.
func Groups() []Group {
	return []Group{
		{"taskrt-cluster", clusterRules()},
		{"taskrt-disks", diskRules()},
		{"taskrt-tasks", taskRules()},
		{"taskrt-clients", clientRules()},
	}
}

func clusterRules() []Rule {
	return []Rule{
		{"TaskrtNoLeader", Critical, `max by (cluster) (taskrt_raft_ready) == 0`, "1m",
			"No node of the cluster has a leader: nothing is submitted, and nothing runs", "", "No leader"},
		{"TaskrtNoSpareNode", Critical, `count by (cluster) (taskrt_raft_ready == 1) <= floor(max by (cluster) (taskrt_raft_members{voter="true"}) / 2) + 1 and on (cluster) max by (cluster) (taskrt_raft_members{voter="true"}) > 2`, "5m",
			"The cluster has just the majority that it needs: when one more node fails, everything stops", "{{ $value }} nodes are ready.", "A node is down"},
		{"TaskrtNodeDown", Warning, `up{job=~"taskrt.*"} == 0`, "2m",
			"A node or worker does not answer scrapes: it is down, or Prometheus may not ask it", "", "A node is down"},
		{"TaskrtNodeNotReady", Warning, `taskrt_raft_ready == 0`, "5m",
			"A node runs and is not ready", "", "A node is not ready"},
		{"TaskrtNodeLags", Warning, `max by (cluster) (taskrt_raft_commit_index offset 1m) - on (cluster) group_right () taskrt_raft_applied_index > 1000`, "2m",
			"A node has not applied what was committed a minute ago", "{{ $value }} entries are missing.", "A node is not ready"},
		{"TaskrtStatesDiffer", Critical, `sum by (cluster) (increase(taskrt_raft_digests_different_total[1h])) > 0`, "0m",
			"A node had another state than the leader: who differed from the majority has stopped", "", "The state or the log is wrong"},
		{"TaskrtElections", Warning, `max by (cluster) (changes(taskrt_raft_term[15m])) > 3`, "0m",
			"Leaders are elected again and again", "{{ $value }} elections in 15 minutes.", "Elections without end"},
		{"TaskrtRestarts", Warning, `changes(process_start_time_seconds{job=~"taskrt.*"}[30m]) > 2`, "0m",
			"A process is started again and again", "{{ $value }} starts in half an hour.", "A process starts again and again"},
		{"TaskrtClocksDiffer", Warning, `max by (cluster) (taskrt_clock_timestamp_seconds - timestamp(taskrt_clock_timestamp_seconds)) - min by (cluster) (taskrt_clock_timestamp_seconds - timestamp(taskrt_clock_timestamp_seconds)) > 5`, "5m",
			"The clocks of two nodes differ", "They differ by {{ $value | humanizeDuration }}.", "Clocks differ"},
		{"TaskrtBuildsDiffer", Info, `count by (cluster) (count by (cluster, version, revision) (taskrt_build_info)) > 1`, "1d",
			"Nodes or workers have had different builds for a day", "{{ $value }} builds.", "An upgrade goes wrong"},
		{"TaskrtCertificateEnds", Warning, `taskrt_certificate_expiry_timestamp_seconds - time() < 14 * 86400`, "1h",
			"A certificate of one's own ends within two weeks", "It ends in {{ $value | humanizeDuration }}.", "A certificate or a token ends"},
		{"TaskrtTokensEnd", Info, `max by (cluster) (taskrt_tokens_ending) > 0`, "1h",
			"Tokens end within a week", "{{ $value }} tokens.", "A certificate or a token ends"},
		{"TaskrtStreamBreach", Critical, `increase(taskrt_stream_breaches_total[1h]) > 0`, "0m",
			"A worker spoke for attempts of others: its machine may be taken over", "", "A worker may be taken over"},
		{"TaskrtGuestBreach", Critical, `increase(taskrt_worker_breaches_total[1h]) > 0`, "0m",
			"A process of guests said what none says: code of a guest has taken it over", "", "A worker may be taken over"},
		{"TaskrtPortRefuses", Warning, `increase(taskrt_port_refused_total[15m]) > 10`, "15m",
			"The node port refuses connections all the time: somebody has no certificate of this cluster", "{{ $value | humanize }} in 15 minutes.", "Nodes refuse each other"},
	}
}

func diskRules() []Rule {
	return []Rule{
		{"TaskrtDiskError", Critical, `taskrt_disk_error == 1`, "0m",
			"A disk refuses writes: of the log (raft), and the node stops; or of the blobs", "", "A disk fails"},
		{"TaskrtDiskFull", Critical, `taskrt_disk_free_bytes / taskrt_disk_size_bytes < 0.1`, "5m",
			"A disk is nearly full; a node without room for its log stops", "{{ $value | humanizePercentage }} is free.", "A disk fails"},
		{"TaskrtDiskFills", Warning, `predict_linear(taskrt_disk_free_bytes[6h], 86400) < 0 and taskrt_disk_free_bytes / taskrt_disk_size_bytes < 0.4`, "1h",
			"A disk will be full within a day, if it goes on as in the last six hours", "", "A disk fails"},
		{"TaskrtDiskSlow", Warning, `rate(taskrt_raft_disk_write_duration_seconds_sum[5m]) / rate(taskrt_raft_disk_write_duration_seconds_count[5m]) > 0.1`, "10m",
			"Durable writes of the log are slow: every commit waits for them", "A write takes {{ $value | humanizeDuration }}.", "A disk is slow"},
		{"TaskrtFilesMissing", Warning, `taskrt_blobs_failing > 0`, "15m",
			"Files that the state names were asked for in vain", "{{ $value }} files.", "Files are missing"},
		{"TaskrtFilesCorrupt", Warning, `increase(taskrt_blobs_corrupt_total[1h]) > 0`, "0m",
			"A damaged file was found and removed: the disk may be failing", "", "Files are missing"},
		{"TaskrtBackupOld", Critical, `time() - max by (cluster) (taskrt_backup_last_success_timestamp_seconds) > ` + backupAge, "10m",
			"The last scheduled backup is too old", "It is {{ $value | humanizeDuration }} old.", "Backups fail"},
		{"TaskrtBackupFails", Warning, `sum by (cluster) (increase(taskrt_backup_failures_total[2h])) > 2`, "0m",
			"Scheduled backups fail again and again", "", "Backups fail"},
	}
}

func taskRules() []Rule {
	failed := `taskrt_attempts_total{outcome=~"failure|trap|timeout|out_of_memory|out_of_fuel|no_result"}`
	return []Rule{
		{"TaskrtQueueOld", Warning, `max by (cluster, namespace, behavior) (taskrt_queue_oldest_seconds) > 300`, "5m",
			"Tasks are due and do not run", "The oldest has been due for {{ $value | humanizeDuration }}.", "Tasks wait"},
		{"TaskrtNoWorkers", Critical, `max by (cluster) (taskrt_sessions) == 0 and on (cluster) sum by (cluster) (taskrt_queue_tasks{state="due"}) > 0`, "5m",
			"Tasks are due, and no worker for modules has a session", "", "Tasks wait"},
		{"TaskrtSlotsFull", Warning, `sum by (cluster) (taskrt_worker_tasks{state="executing"}) >= sum by (cluster) (taskrt_worker_slots) and on (cluster) sum by (cluster) (taskrt_queue_tasks{state="due"}) > 0`, "15m",
			"All slots of all workers have been busy for a while, and tasks are due", "{{ $value }} attempts run.", "Tasks wait"},
		{"TaskrtLeasesLost", Warning, `max by (cluster) (increase(taskrt_leases_ended_total[15m])) > 0`, "0m",
			"Workers have lost leases: a machine or a process of guests ended, or stood still", "{{ $value | humanize }} in 15 minutes.", "Attempts are lost"},
		{"TaskrtAttemptsFail", Warning, `sum by (cluster, namespace, behavior) (rate(` + failed + `[15m])) / sum by (cluster, namespace, behavior) (rate(taskrt_attempts_total[15m])) > 0.5 and on (cluster, namespace, behavior) sum by (cluster, namespace, behavior) (increase(` + failed + `[15m])) >= 10`, "10m",
			"More than half of the attempts of a behavior fail", "{{ $value | humanizePercentage }} fail.", "Tasks fail"},
		{"TaskrtGuestMemoryFull", Warning, `taskrt_guest_memory_bytes / taskrt_guest_memory_limit_bytes > 0.95 and taskrt_instances_idle == 0`, "10m",
			"Guests use all memory that they may use together: attempts wait for it", "{{ $value | humanizePercentage }} is used.", "Guests have no memory"},
		{"TaskrtModulesFail", Warning, `increase(taskrt_module_compile_duration_seconds_count{result="failed"}[30m]) > 2`, "0m",
			"Modules cannot be made ready here", "", "A module does not compile"},
		{"TaskrtTooManyKept", Info, `max by (cluster) (taskrt_tasks_too_many_kept) > 0`, "1h",
			"More tasks than the cluster keeps for ever would be kept for ever: the latest are removed after the default times", "{{ $value }} tasks.", "Too many tasks are kept"},
	}
}

func clientRules() []Rule {
	return []Rule{
		{"TaskrtRequestsFail", Warning, `sum by (cluster) (rate(taskrt_http_requests_total{code=~"5.."}[5m])) / sum by (cluster) (rate(taskrt_http_requests_total[5m])) > 0.05`, "10m",
			"Nodes fail to answer requests", "{{ $value | humanizePercentage }} of all requests.", "Requests fail"},
		{"TaskrtOverloaded", Warning, `sum by (cluster) (rate(taskrt_http_problems_total{code=~"overloaded|rate_limited|keys_exhausted"}[5m])) > 1`, "10m",
			"Requests are refused because there are too many, of all clients or of a token", "{{ $value | printf \"%.1f\" }} in a second.", "Too much waits"},
		{"TaskrtQuotaUsedUp", Warning, `sum by (cluster) (rate(taskrt_http_problems_total{code="quota_exceeded"}[15m])) > 0.01`, "10m",
			"Work is refused because a namespace has used up a quota", "{{ $value | printf \"%.1f\" }} in a second.", "Too much waits"},
		{"TaskrtUnknownTokens", Info, `sum by (cluster) (rate(taskrt_http_requests_total{code="401"}[15m])) > 0.2`, "15m",
			"Somebody goes on asking without a token that holds", "{{ $value | printf \"%.1f\" }} in a second.", "A request is refused"},
		{"TaskrtConnectionsDropped", Warning, `sum by (cluster, instance) (rate(taskrt_http_connections_dropped_total[5m])) > 0`, "10m",
			"A node closes connections of clients, because there are too many", "{{ $value | printf \"%.1f\" }} in a second.", "Connections are dropped"},
		{"TaskrtFilesOpen", Warning, `process_open_fds{job=~"taskrt.*"} / process_max_fds{job=~"taskrt.*"} > 0.8`, "10m",
			"A process has nearly as many files and connections open as it may", "{{ $value | humanizePercentage }} of them.", "Connections are dropped"},
	}
}

// backupAge stands in an expression for the age beyond which a backup is too old.
const backupAge = "BACKUP_AGE"

// Runbook is where the sections of the runbook are.
const Runbook = "https://github.com/taskrt/taskrt/blob/main/docs/operate.md"

// RuleSettings say what the alerts of a cluster have of their own.
type RuleSettings struct {
	Labels    map[string]string // that each alert gets
	Runbook   string            // URL of docs/operate.md, or of a copy
	BackupAge int64             // seconds
}

// ruleFile is a file of rules, as Prometheus reads it.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string      `yaml:"name"`
	Rules []alertRule `yaml:"rules"`
}

type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// rules makes the file.
func rules(s RuleSettings) (f ruleFile) {
	for _, g := range Groups() {
		out := ruleGroup{Name: g.Name}
		for _, r := range g.Rules {
			labels := map[string]string{"severity": string(r.Severity)}
			for name, value := range s.Labels {
				labels[name] = value
			}
			notes := map[string]string{"summary": r.Summary + ".", "runbook_url": s.Runbook + "#" + anchor.Of(r.Section)}
			if r.Value != "" {
				notes["description"] = r.Value
			}
			out.Rules = append(out.Rules, alertRule{
				Alert: r.Alert, Expr: strings.ReplaceAll(r.Expr, backupAge, fmt.Sprint(s.BackupAge)), For: r.For, Labels: labels, Annotations: notes,
			})
		}
		f.Groups = append(f.Groups, out)
	}
	return f
}

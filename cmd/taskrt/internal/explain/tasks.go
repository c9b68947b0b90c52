package explain

import "github.com/taskrt/taskrt/cmd/taskrt/internal/exit"

// outcomes are the codes of failed tasks that the host gives (SPEC T5).
var outcomes = []Entry{
	{Code: "CANCELLED", Of: Task, Means: "Somebody cancelled the task.", Do: "Resubmit it if it is needed after all: `taskrt resubmit ID`."},
	{Code: "HANDLER_ERROR", Of: Task, Means: "The behavior itself reported an error, or its program ended with another exit code than 0.", Do: "Read the message and `taskrt logs ID`; correct the params or the behavior, then `taskrt retry ID`."},
	{Code: "TRAP", Of: Task, Means: "The guest trapped: it aborted, or did what WebAssembly forbids.", Do: "Read `taskrt logs ID`, where the end of its standard error is; try it with `taskrt run FILE.wasm`."},
	{Code: "TIMEOUT", Of: Task, Means: "The attempt took longer than `run_timeout`, or the guest was silent for `heartbeat_timeout`.", Do: "Raise the limit in the manifest, do less in one task, or call heartbeat more often."},
	{Code: "OUT_OF_MEMORY", Of: Task, Means: "The guest needed more memory than `limits.memory_bytes`.", Do: "Raise the limit in the manifest, or read large inputs in pieces."},
	{Code: "OUT_OF_FUEL", Of: Task, Means: "The guest executed more than `limits.fuel` allows.", Do: "Raise the limit in the manifest; `taskrt get ID` shows what former attempts used."},
	{Code: "NO_RESULT", Of: Task, Means: "The run ended without the result that the manifest requires, or with a status that is not defined.", Do: "Let the guest write a result, or say `result: optional`."},
	{Code: "LOST_TOO_OFTEN", Of: Task, Means: "The worker of the task died more often than `max_lost` allows.", Do: "Find out what ends the workers: their logs, and `taskrt cluster workers`. Then `taskrt retry ID`."},
	{Code: "DEADLINE_EXCEEDED", Of: Task, Means: "The task was not finished at its deadline.", Do: "Give more time, or more workers; `taskrt resubmit ID` clears the deadline."},
	{Code: "COMPLETION_FAILED", Of: Task, Means: "All partitions have ended, but the operation's completion failed.", Do: "Look at the task `ID:complete`; `taskrt op retry ID` runs the completion again."},
	{Code: "CRASHED", Of: Task, Means: "The process of the guests died under this attempt, which it ran alone.", Do: "Look into the server's log at that time: the memory of the machine, and the limits around the process. Report it if neither explains it."},
	{Code: "CHILD_REFUSED", Of: Task, Means: "The attempt succeeded, but the child tasks that it submits were refused.", Do: "The message says why: a behavior that is not there, a grant, a quota. Correct it, then `taskrt retry ID`."},
	{Code: "SESSION_ENDED", Of: Task, Means: "A cleanup could not run: the session whose partition it should tidy up is over.", Do: "Nothing: what that session held is gone with it."},
	{Code: "backup_failed", Of: Task, Means: "A backup by schedule failed; it is tried again.", Do: "Read the message and `taskrt snapshot status`; see whether the nodes reach the target."},
}

// afterExit says what to do after an exit code.
var afterExit = map[int]string{
	exit.OK:          "Nothing.",
	exit.TaskFailed:  "The message on standard error has the task's own code: `taskrt explain` knows it.",
	exit.Usage:       "Read the line on standard error, and `taskrt COMMAND --help`.",
	exit.Unreachable: "Run the command again; one that changes something and had no answer is safe under its `--idempotency-key`.",
	exit.TimedOut:    "Wait again; what was waited for goes on.",
	exit.Refused:     "Standard error has the code of the refusal: `taskrt explain` knows it.",
	exit.File:        "Correct the path or its permissions.",
	exit.Start:       "Correct what standard error names: an address that is taken, a directory that another process holds. `--check` looks without starting.",
	exit.Over:        "Give the node an empty directory if it should come back as a newcomer.",
	exit.Overrun:     "Nothing: the process starts again; the task runs elsewhere.",
	exit.Interrupted: "Nothing: somebody interrupted the command. What it had asked for may have been done.",
}

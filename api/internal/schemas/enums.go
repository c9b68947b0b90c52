package schemas

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/roster"
)

// Enum is a set of texts, one of which certain fields have. It is a component of the document.
type Enum struct {
	Name, Doc string
	Words     []string
	Fields    []string // "Task.Status"; of a list: its elements
}

// enums is the one table of enumerations. Where the words belong to a Go type, the type is asked for them, or a test compares them with its
// constants.
var enums = []Enum{
	{"TaskStatus", "The status of a task.", words(task.Created), []string{"Task.Status"}},
	{"OperationStatus", "The status of an operation.", words(task.OperationRunning), []string{"Operation.Status"}},
	{"NamespaceStatus", "The status of a namespace.", words(task.NamespaceIsActive), []string{"Namespace.Status"}},
	{"SubmitOutcome", "What a submit did.", words(task.SubmitCreated), []string{"SubmitReply.Outcome"}},
	{
		"ErrorCode", "The code of an error. Later versions may add codes: a client treats one that it does not know by its status.",
		codes(), []string{"Error.Code"},
	},
	{"Role", "What a token may do.", access.All.Names(), []string{"Token.Roles", "CreateTokenRequest.Roles", "IssuerRule.Roles"}},
	{"IfExists", "What a submit does if a task has the ID already.", []string{"join", "fail", "rerun", "resubmit"}, []string{"SubmitRequest.IfExists"}},
	{"ReasonKind", "Why a transaction did not happen.", []string{task.ReasonMissing, task.ReasonChanged, task.ReasonLeased, task.ReasonExists}, []string{"Reason.Kind"}},
	{
		"RunStatus", "The status of a maintenance run.",
		[]string{"WAITING", "RUNNING", "SUCCESS", "FAILURE", "LOST", "SUSPECT", "GIVEN_BACK", "SNOOZED", "SUPERSEDED", "REMOVED"}, []string{"MaintenanceRun.Status"},
	},
	{
		"NodeRole", "What a node is in its cluster.",
		[]string{"leader", "follower", "candidate", "nonvoter", "joining", "stopped", "unreachable", "removed"}, []string{"Node.Role"},
	},
	{"JobAction", "What a bulk job does with each task.", []string{"cancel", "retry", "resubmit", "remove"}, []string{"Job.Action"}},
	{"JobStatus", "The status of a bulk job.", []string{jobs.Selecting, jobs.Running, jobs.Success, jobs.Cancelled, jobs.Failed}, []string{"Job.Status"}},
	{"NodeVote", "Whether a node may vote.", []string{roster.Newcomer.String(), roster.Voter.String(), roster.Held.String()}, []string{"Node.Vote"}},
	{"BehaviorKind", "Who runs the tasks of a behavior.", []string{"wasm", "external"}, []string{"Behavior.Kind"}},
	{"WorkerKind", "What a worker is.", []string{"session", "external"}, []string{"Worker.Kind"}},
	{"WaitMode", "For how many of the tasks to wait.", []string{"all", "any"}, []string{"WaitRequest.Mode"}},
	{"IDStrategy", "How a task without an ID gets one.", []string{"random", "params", "caller"}, []string{"BehaviorID.Strategy"}},
	{"ExternalKind", "The kind of a behavior whose tasks programs accept over HTTP.", []string{"external"}, []string{"ExternalBehavior.Kind"}},
	{"RepeatOn", "After which outcomes a task is due again.", []string{"success", "any"}, []string{"ExternalBehavior.RepeatOn"}},
	{"OnTimeout", "What follows from an attempt that took too long.", []string{"retry", "fail"}, []string{"ExternalBehavior.OnTimeout"}},
	{"KeyOrder", "In which order tasks of one concurrency key run.", []string{"strict"}, []string{"ExternalBehavior.KeyOrder"}},
	{"ResultRule", "Whether a success has a result.", []string{"optional", "required"}, []string{"ExternalBehavior.Result"}},
}

// words returns the words of all values of a type, from the first one on.
func words[T interface {
	~uint8
	String() string
}](first T) []string {
	var all []string
	for v := first; v.String() != T(0).String(); v++ {
		all = append(all, v.String())
	}
	return all
}

func codes() []string {
	var all []string
	for _, c := range api.Codes() {
		all = append(all, c.Code)
	}
	return all
}

// Words returns the words of an enumeration.
func Words(name string) []string {
	return enums[slices.IndexFunc(enums, func(e Enum) bool { return e.Name == name })].Words
}

// OneOf returns the schema of a text that is one of some words: a reference, if the words are those of an enumeration.
func OneOf(words []string) *jsonschema.Schema {
	for _, e := range enums {
		if slices.Equal(e.Words, words) {
			return e.refer()
		}
	}
	return &jsonschema.Schema{Type: "string", Enum: texts(words)}
}

// refer returns a reference to the component of an enumeration.
func (e *Enum) refer() *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + e.Name}
}

func (e *Enum) schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: e.Doc, Enum: texts(e.Words)}
}

// enumerate makes the schema of a field a reference if the field has an enumeration.
func enumerate(field string, p *jsonschema.Schema) {
	for _, e := range enums {
		switch {
		case !slices.Contains(e.Fields, field):
		case p.Items != nil:
			p.Items = e.refer()
		default:
			p.Type, p.Ref = "", e.refer().Ref
		}
	}
}

func texts(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}

package api

import (
	"net/http"
	"slices"
)

// CodeEntry is one line of the registry of error codes.
type CodeEntry struct {
	Code    string
	Status  int // HTTP
	Meaning string
}

// codes is the one table of error codes (SPEC H3): it has the HTTP status and the meaning of each. The answers, the OpenAPI
// document and the document's test all read it. The codes of the state machine (task.Code) and of uploads (upload.Error) travel
// under their own names.
var codes = []CodeEntry{
	{CodeBadRequest, http.StatusBadRequest, "The request cannot be read."},
	{CodeInvalidJSON, http.StatusBadRequest, "The body is not the JSON that is asked for."},
	{CodeUnknownField, http.StatusBadRequest, "There is no such field or query parameter."},
	{CodeInvalidField, http.StatusBadRequest, "A field or query parameter has a value that it cannot have."},
	{"invalid_command", http.StatusBadRequest, "The state does not allow what a field asks for."},

	{CodeUnauthenticated, http.StatusUnauthorized, "The request has no token, or one that does not hold."},
	{CodeTokenRevoked, http.StatusUnauthorized, "The token was revoked, or has expired, before the request was carried out: nothing was done."},
	{CodeForbidden, http.StatusForbidden, "The token lacks a role, which the detail names."},
	{CodeCrossOrigin, http.StatusForbidden, "A browser says that a page of another origin sent this."},

	{CodeUnknownHost, http.StatusMisdirectedRequest, "The header Host has a name that is not one of this server's: --http-host adds names."},

	{CodeNotFound, http.StatusNotFound, "There is nothing at this path."},
	{CodeTaskNotFound, http.StatusNotFound, "There is no such task."},
	{CodeBehaviorNotFound, http.StatusNotFound, "There is no such behavior."},
	{CodeModuleNotFound, http.StatusNotFound, "There is no such module."},
	{CodeVersionNotFound, http.StatusNotFound, "No kept version of the behavior has this name."},
	{CodeMemberNotFound, http.StatusNotFound, "The cluster has no such member."},
	{CodeJobNotFound, http.StatusNotFound, "There is no such bulk job, or it ended long ago."},
	{"namespace_not_found", http.StatusNotFound, "There is no such namespace."},
	{"operation_not_found", http.StatusNotFound, "There is no such operation."},
	{CodeBlobNotFound, http.StatusNotFound, "There is no such blob."},
	{"session_not_found", http.StatusNotFound, "The worker's session has ended."},
	{CodeTokenNotFound, http.StatusNotFound, "There is no such token that the caller may manage."},
	{CodeRemoved, http.StatusNotFound, "The task was removed while it was waited for."},

	{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "The path does not have this method."},

	{"already_exists", http.StatusConflict, "The ID is taken, and if_exists is fail."},
	{"other_behavior", http.StatusConflict, "The ID belongs to a task of another behavior."},
	{"cancelling", http.StatusConflict, "The task is being cancelled."},
	{"not_cancellable", http.StatusConflict, "The task has an outcome and was not cancelled."},
	{"not_final", http.StatusConflict, "The task runs, or waits for its first run: there is nothing to retry."},
	{CodeHalt, http.StatusConflict, "The token is not the task's current one: stop working on it."},
	{"not_external", http.StatusConflict, "A node's worker runs the task, or the behavior has a module: nobody may report or accept over HTTP."},
	{"other_kind", http.StatusConflict, "The behavior has a module and should become external, or the other way round."},
	{"behavior_changed", http.StatusConflict, "The behavior changed while the request was looked at; send it again."},
	{"behavior_paused", http.StatusConflict, "The behavior is paused."},
	{CodeNoMajority, http.StatusConflict, "Too few of the members that vote would be left alive; the detail names those who do not answer."},
	{"worker_drained", http.StatusConflict, "The worker's node is drained."},
	{"worker_in_use", http.StatusConflict, "Another process is this worker."},
	{"limit_reached", http.StatusConflict, "As many tasks run as the behavior allows."},
	{"not_eligible", http.StatusConflict, "The task is not due, or has changed."},
	{"no_free_slot", http.StatusConflict, "The worker has no free slot."},
	{"module_missing", http.StatusConflict, "The behavior has no version to run."},
	{"namespace_inactive", http.StatusConflict, "The namespace is not active."},
	{"namespace_purging", http.StatusConflict, "The namespace is being purged."},
	{CodeTokenExists, http.StatusConflict, "A token of this name exists."},
	{CodeTooManyTokens, http.StatusConflict, "The cluster keeps as many tokens as it can."},
	{CodeIssuerNotFound, http.StatusNotFound, "No issuer of the cluster has the name, or the URL and the client that the token names."},
	{CodeIssuerAway, http.StatusServiceUnavailable, "The issuer does not answer, so its token cannot be verified; nothing was done."},
	{CodeSignInRefused, http.StatusUnauthorized, "The issuer's token does not hold; the detail says why."},
	{CodeSignInChanged, http.StatusConflict, "Others keep changing the issuers; nothing was done."},
	{"namespace_exists", http.StatusConflict, "A namespace of this name exists."},
	{"namespace_reserved", http.StatusConflict, "The namespace is the system's, or default: this cannot be done to it."},
	{"namespace_not_empty", http.StatusConflict, "The namespace holds something."},
	{"operation_conflict", http.StatusConflict, "Another operation runs that excludes this one; operation is that one."},
	{"operation_task", http.StatusConflict, "The task belongs to an operation, which alone may do this."},
	{"operation_state", http.StatusConflict, "The operation is not in a state for this."},
	{"not_an_operation", http.StatusConflict, "The behavior's manifest does not say operation."},
	{"job_moved", http.StatusConflict, "The bulk job has ended, or is elsewhere."},
	{"too_many_jobs", http.StatusConflict, "As many bulk jobs are under way as may be: wait until one has ended, or cancel one."},
	{"reserved_id", http.StatusConflict, "The ID begins like those of an operation's tasks, or the operation's ID is taken by tasks."},
	{"maintenance_running", http.StatusConflict, "A maintenance run is unfinished; run is its number."},
	{CodeRunNotFound, http.StatusNotFound, "The run is not the unfinished one, or is no longer remembered."},
	{CodeBlobGone, http.StatusConflict, "A blob that is referred to is not stored: put it again."},
	{CodeConflict, http.StatusConflict, "The transaction did not happen; reasons says why."},
	{CodeLevelTooLow, http.StatusConflict, "The cluster's feature level does not know this yet: a member is of a former build."},
	{"store_conflict", http.StatusConflict, "Records are missing or owned by somebody else."},

	{CodeOtherCluster, http.StatusMisdirectedRequest, "The header Taskrt-Cluster names another cluster than this one; nothing was done."},

	{CodePrecondition, http.StatusPreconditionFailed, "The blob is not one that If-Match names."},

	{CodeTooLarge, http.StatusRequestEntityTooLarge, "The body or a field is larger than its limit."},
	{CodeNoRange, http.StatusRequestedRangeNotSatisfiable, "The blob ends before the range begins; limit is its size."},
	{CodeUnsupportedMedia, http.StatusUnsupportedMediaType, "The body has a media type that cannot be read here."},

	{CodeInvalidParams, http.StatusUnprocessableEntity, "The params have no canonical form, or lack what the ID is made of."},
	{CodeParamsSchema, http.StatusUnprocessableEntity, "The params do not match the behavior's schema."},
	{CodeResultSchema, http.StatusUnprocessableEntity, "The result does not match the behavior's schema; the attempt goes on."},
	{CodeIdempotencyMismatch, http.StatusUnprocessableEntity, "The Idempotency-Key was used with another request."},
	{CodeDigestMismatch, http.StatusUnprocessableEntity, "The bytes do not have the digest that was given."},
	{CodeBadArchive, http.StatusUnprocessableEntity, "What is imported is not a whole export of this form; what came before the line that is named was taken up."},
	{"bad_manifest", http.StatusUnprocessableEntity, "The manifest, or the definition of an external behavior, is wrong."},
	{"not_wasm", http.StatusUnprocessableEntity, "The file is not a wasm module."},
	{"component_binary", http.StatusUnprocessableEntity, "The file is a wasm component; a core module is needed."},
	{"truncated", http.StatusUnprocessableEntity, "The file ends in the middle of a section."},
	{"malformed", http.StatusUnprocessableEntity, "The file is not a valid module."},
	{"abi_version", http.StatusUnprocessableEntity, "The module was built for another version of the ABI."},
	{"bad_import", http.StatusUnprocessableEntity, "The module imports what the host does not have."},
	{"missing_export", http.StatusUnprocessableEntity, "The module does not export what it must."},
	{"bad_export", http.StatusUnprocessableEntity, "The module exports something of the wrong kind or signature."},
	{"bad_memory", http.StatusUnprocessableEntity, "The module's memory is of a kind that is not supported."},
	{"bad_segment", http.StatusUnprocessableEntity, "An active segment of elements or data does not fit where the module puts it."},
	{"memory_limit", http.StatusUnprocessableEntity, "The module needs more memory than the limit."},
	{"too_complex", http.StatusUnprocessableEntity, "The module is larger or deeper than the host compiles."},
	{"unsupported_feature", http.StatusUnprocessableEntity, "The module uses a feature of WebAssembly that is not supported: threads, exceptions of the form before try_table, typed references, garbage collection, several memories."},
	{"unknown_capability", http.StatusUnprocessableEntity, "The manifest requires a capability that does not exist."},
	{"capability_not_granted", http.StatusUnprocessableEntity, "The manifest requires a capability that this node's operator does not grant the behavior."},
	{"compile_failed", http.StatusUnprocessableEntity, "The module does not compile."},
	{"describe_failed", http.StatusUnprocessableEntity, "The module's description of itself failed."},
	{"trial_failed", http.StatusUnprocessableEntity, "A trial instance of the module failed."},

	{"quota_exceeded", http.StatusTooManyRequests, "The namespace has a quota, which field names."},
	{CodeOverloaded, http.StatusTooManyRequests, "Too much is under way; send it again after Retry-After."},
	{CodeRateLimited, http.StatusTooManyRequests, "The token has sent more than its rate, or the address has sent too many requests without a token that holds."},
	{"keys_exhausted", http.StatusTooManyRequests, "Too many idempotency keys are kept; send it again later."},

	{CodeInternal, http.StatusInternalServerError, "The request failed inside the server; its log says why."},

	{CodeNoLeader, http.StatusServiceUnavailable, "The cluster has no leader now; nothing was done."},
	{CodeNotReady, http.StatusServiceUnavailable, "This node does not serve now; nothing was done."},
	{CodeOutcomeUnknown, http.StatusServiceUnavailable, "It may or may not have been done."},
	{CodeStorageFull, http.StatusInsufficientStorage, "The disks of too many nodes are full; nothing was stored."},
	{"origin_forgotten", http.StatusServiceUnavailable, "It may or may not have been done: the answer was kept for too short."},
}

// codeTable is codes by name.
var codeTable = func() map[string]CodeEntry {
	m := make(map[string]CodeEntry, len(codes))
	for _, c := range codes {
		m[c.Code] = c
	}
	return m
}()

// Codes returns the registry.
func Codes() []CodeEntry { return slices.Clone(codes) }

// StatusOf returns the HTTP status of a code. A code that is not in the registry has the status of an internal error.
func StatusOf(code string) int {
	if c, ok := codeTable[code]; ok {
		return c.Status
	}
	return http.StatusInternalServerError
}

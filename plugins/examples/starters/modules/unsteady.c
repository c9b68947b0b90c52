/* Something that fails at first: its attempts fail until the one that the params name. The runtime runs it again, later each time. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

TASKRT_MANIFEST({
  "schema": 1,
  "behaviors": [{
    "name": "example.unsteady",
    "description": "Fails until a certain attempt. See it wait, retry it by hand, or give it more failures than its ten attempts bear.",
    "retry": {"max_attempts": 10, "initial_interval": "2s", "multiplier_thousandths": 1500, "max_interval": "10s"},
    "params_schema": {
      "type": "object",
      "properties": {"succeeds_at": {"type": "integer", "description": "the first attempt that succeeds", "minimum": 1, "default": 4}},
      "required": ["succeeds_at"],
      "additionalProperties": false
    }
  }]
});

static taskrt_outcome try_it(void) {
  taskrt_arena arena = {0};
  taskrt_json params;
  taskrt_outcome bad_params;
  taskrt_info info;
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  if (!taskrt_task(&arena, &info)) return taskrt_retryable("no_info", "the host does not say which attempt this is");
  int64_t at;
  if (!taskrt_json_int64(taskrt_json_get(params, "succeeds_at"), &at)) return taskrt_fail("no_attempt", "params have no number \"succeeds_at\"");
  if (info.attempt < at) return taskrt_retryable("not_yet", "attempt %lld fails, attempt %lld succeeds", (long long)info.attempt, (long long)at);
  taskrt_str result = taskrt_format(&arena, "{\"attempts\":%lld}", (long long)info.attempt);
  return taskrt_succeed(result.text, result.length);
}

TASKRT_BEHAVIORS({"example.unsteady", try_it});

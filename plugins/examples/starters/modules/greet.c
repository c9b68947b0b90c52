/* The smallest task: {"name":"Ada"} → {"greeting":"Hello, Ada!"}. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

TASKRT_MANIFEST({
  "schema": 1,
  "behaviors": [{
    "name": "example.greet",
    "description": "Greets somebody. The smallest task.",
    "params_schema": {
      "type": "object",
      "properties": {"name": {"type": "string", "description": "whom to greet", "minLength": 1, "default": "world"}},
      "required": ["name"],
      "additionalProperties": false
    }
  }]
});

static taskrt_outcome greet(void) {
  taskrt_arena arena = {0};
  taskrt_json params;
  taskrt_outcome bad_params;
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  taskrt_str name;
  if (!taskrt_json_string(taskrt_json_get(params, "name"), &arena, &name)) return taskrt_fail("no_name", "nobody to greet");
  taskrt_log(TASKRT_INFO, "greeting %s", name.text);

  static char buffer[1024];
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '{');
  taskrt_json_name(&w, "greeting");
  taskrt_json_put_str(&w, taskrt_format(&arena, "Hello, %s!", name.text));
  taskrt_json_close(&w, '}');
  return taskrt_finish(&w);
}

TASKRT_BEHAVIORS({"example.greet", greet});

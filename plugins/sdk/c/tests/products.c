/* The guest of TestCProducts: params are two i128, the result is their product as the SDK computes it. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

static taskrt_outcome run(void) {
  taskrt_arena arena = {0};
  taskrt_str params;
  taskrt__int128 factors[2];
  if (!taskrt_params(&arena, &params) || params.length != sizeof factors) return taskrt_fail("bad_params", "not two numbers");
  __builtin_memcpy(factors, params.text, sizeof factors);
  taskrt__int128 product = __multi3(factors[0], factors[1]);
  return taskrt_succeed(&product, sizeof product);
}

TASKRT_MANIFEST({"schema": 1, "behaviors": [{"name": "products"}]});
TASKRT_BEHAVIORS({"products", run});

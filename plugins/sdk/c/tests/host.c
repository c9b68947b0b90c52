/* A host for guests that are compiled natively, with sanitizers: params are standard input, the result is standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "taskrt.h"

static char *params;
static size_t length;

int32_t taskrt_abi_len(int32_t channel) { return channel == TASKRT_CH_PARAMS ? (int32_t)length : TASKRT_ENOENT; }

int32_t taskrt_abi_read(int32_t channel, void *to, uint32_t offset, uint32_t n) {
  if (channel != TASKRT_CH_PARAMS) return TASKRT_ENOENT;
  if (offset >= length) return 0;
  if (n > length - offset) n = (uint32_t)(length - offset);
  memcpy(to, params + offset, n);
  return (int32_t)n;
}

int32_t taskrt_abi_write(int32_t channel, const void *from, uint32_t n) {
  fwrite(from, 1, n, channel == TASKRT_CH_RESULT ? stdout : stderr);
  return (int32_t)n;
}

int32_t taskrt_wasi_fd_write(int32_t fd, const void *parts, int32_t n, void *written) {
  const struct {
    const char *text;
    size_t n;
  } *part = parts;
  (void)n, (void)written;
  fwrite(part->text, 1, part->n, fd == 1 ? stdout : stderr);
  return 0;
}

void taskrt_abi_log(int32_t level, const void *text, uint32_t n) { (void)level, (void)text, (void)n; }
int32_t taskrt_abi_beat(int64_t done, int64_t total) { return (void)done, (void)total, 0; }
int32_t taskrt_abi_signals(void) { return 0; }
int64_t taskrt_abi_clock(int32_t id) { return (void)id, 0; }
int32_t taskrt_abi_call(int32_t op, const void *payload, uint32_t n) { return (void)op, (void)payload, (void)n, TASKRT_ENOSYS; }
int32_t taskrt_wasi_poll_oneoff(const void *in, void *out, int32_t n, void *ready) { return (void)in, (void)out, (void)n, (void)ready, 0; }
_Noreturn void taskrt_wasi_proc_exit(int32_t code) { exit(code); }

int32_t taskrt_run(int32_t index);

int main(void) {
  size_t capacity = 64 << 20;
  params = malloc(capacity);
  length = fread(params, 1, capacity, stdin);
  return taskrt_run(0);
}

/*
 * taskrt.h: the SDK for taskrt plugins in C11, one header without dependencies. README.md has a whole plugin.
 *
 * One source file of the plugin defines TASKRT_IMPLEMENTATION before it includes this header; others just include it.
 *
 *   clang --target=wasm32 -std=c11 -O2 -mbulk-memory -nostdlib -Wl,--no-entry,--stack-first,--strip-all -o plugin.wasm plugin.c
 *
 * --stack-first makes a stack overflow a trap; without it, an overflow would overwrite data. The header also works with wasi-libc. With a
 * compiler for another target it needs the functions taskrt_abi_* and taskrt_wasi_*, which a native test provides.
 *
 * Text and bytes are a pointer and a length. A text that the SDK itself makes also ends with a zero byte, which the length does not count.
 * Numbers that can be negative statuses are int32_t or int64_t: TASKRT_E….
 */
#ifndef TASKRT_H
#define TASKRT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__wasm__)
#define TASKRT_IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define TASKRT_EXPORT(name) __attribute__((export_name(name)))
#else
#define TASKRT_IMPORT(module, name)
#define TASKRT_EXPORT(name)
#endif
#if defined(__GNUC__)
#define TASKRT_PRINTF(at, args) __attribute__((format(printf, at, args)))
#else
#define TASKRT_PRINTF(at, args)
#endif

/* ---- Behaviors ---- */

/* How an attempt ends: the value that a behavior's function returns. Functions below return it with a reason: `return taskrt_fail(…);`. */
typedef enum {
  TASKRT_OK = 0,
  TASKRT_RETRYABLE = 1,
  TASKRT_PERMANENT = 2,
  TASKRT_CANCELLED = 3,
  TASKRT_YIELD = 4,
} taskrt_outcome;

typedef struct {
  const char *name;
  taskrt_outcome (*run)(void); /* once per attempt, in fresh memory */
} taskrt_behavior;

extern const taskrt_behavior taskrt_behaviors[];
extern const size_t taskrt_behavior_count;

/* TASKRT_BEHAVIORS({"name", function}, …); lists the behaviors of the module, in the order of the manifest. The behaviors of an operation
 * (partitions, completion and cleanup) are behaviors like others. */
#define TASKRT_BEHAVIORS(...)                                      \
  const taskrt_behavior taskrt_behaviors[] = {__VA_ARGS__};        \
  const size_t taskrt_behavior_count = sizeof taskrt_behaviors / sizeof *taskrt_behaviors

/* TASKRT_MANIFEST({"schema":1, …}); puts the manifest into the module, JSON as it stands. If a macro has the name of a word that the
 * JSON has outside of its strings (true, false, null), the preprocessor would replace the word. */
#if defined(__wasm__)
#define TASKRT_MANIFEST(...) TASKRT_MANIFEST_(#__VA_ARGS__)
#define TASKRT_MANIFEST_(text) __asm__(".section .custom_section.taskrt.manifest,\"\",@\n.ascii " #text "\n.text\n")
#else
#define TASKRT_MANIFEST(...) extern const size_t taskrt_behavior_count
#endif

/* ---- Statuses of the host ---- */

enum {
  TASKRT_ENOSYS = -1,    /* this host does not offer it */
  TASKRT_EINVAL = -2,    /* refused as invalid */
  TASKRT_E2BIG = -3,     /* over a limit */
  TASKRT_ENOENT = -4,    /* not there */
  TASKRT_EAGAIN = -5,    /* not now; try again later */
  TASKRT_EDENIED = -6,   /* not granted */
  TASKRT_ECONFLICT = -7, /* the lease is lost: another attempt may be running; stop */
};

/* taskrt_status_text says a status in words. */
const char *taskrt_status_text(int64_t status);

/* ---- Memory ---- */

typedef struct {
  const char *text;
  size_t length;
} taskrt_str;

/* TASKRT_STR is the taskrt_str of a literal. */
#define TASKRT_STR(literal) ((taskrt_str){"" literal, sizeof(literal) - 1})

bool taskrt_str_is(taskrt_str s, const char *text);

/* taskrt_arena gives memory that is given back all at once, or never: attempts have fresh memory. The zero value grows the module's
 * memory as needed; if the host refuses, the attempt ends there with OUT_OF_MEMORY. Where there is a libc, an arena takes memory from
 * malloc, because malloc takes all memory for its own. With a malloc that the SDK does not know, define TASKRT_MALLOC as its name. */
typedef struct {
  char *begin, *at, *end;
  bool fixed;
} taskrt_arena;

/* taskrt_arena_of gives only the memory of a buffer. */
taskrt_arena taskrt_arena_of(void *buffer, size_t size);

/* taskrt_alloc returns n bytes at a multiple of 16; NULL if the buffer of the arena has no more. */
void *taskrt_alloc(taskrt_arena *arena, size_t n);

/* taskrt_release gives back everything that was allocated since taskrt_mark. */
void *taskrt_mark(taskrt_arena *arena);
void taskrt_release(taskrt_arena *arena, void *mark);

/* ---- Input ---- */

/* taskrt_params reads all params: JSON as submitted, or any bytes; empty if there are none. They may be 16 MiB, if
 * limits.params_bytes allows it; a reader needs no more memory than a piece. false: the arena is too small. */
bool taskrt_params(taskrt_arena *arena, taskrt_str *params);

/* taskrt_checkpoint reads what this task saved last, in this attempt or an earlier one. taskrt_config reads what the operator set. false:
 * there is none (then text is NULL), or the arena is too small (then text is not NULL). */
bool taskrt_checkpoint(taskrt_arena *arena, taskrt_str *checkpoint);
bool taskrt_config(taskrt_arena *arena, taskrt_str *config);

/* taskrt_reader reads an input that may be larger than memory in pieces. size is known from the start. */
typedef struct {
  int64_t size;
  int64_t at; /* where taskrt_read goes on; set it to go elsewhere */
  int32_t channel;
  char blob[71];
} taskrt_reader;

taskrt_reader taskrt_params_reader(void);
bool taskrt_checkpoint_reader(taskrt_reader *reader); /* false: there is none */

/* taskrt_blob opens a blob by its name: "sha256:" and 64 hexadecimal digits, as params have it in {"$blob":"sha256:…"}. It returns 0, or
 * TASKRT_ENOENT (no node has it), TASKRT_EAGAIN (it cannot be had now), TASKRT_EINVAL (this cannot be a name). */
int32_t taskrt_blob(taskrt_reader *reader, taskrt_str name);

/* taskrt_read reads up to n bytes, of a blob at most 1 MiB. It reads fewer only at the end, where it returns 0. Each call asks the host, so
 * read some KiB at once. Negative: a status. */
int32_t taskrt_read(taskrt_reader *reader, void *to, size_t n);

/* ---- Task and time ---- */

/* taskrt_json is a value of a checked JSON text; length 0: absent. */
typedef struct {
  const char *text;
  size_t length;
} taskrt_json;

/* What is known of the task and the attempt. Fields that the host does not tell are zero. */
typedef struct {
  taskrt_str space; /* the namespace */
  taskrt_str id;    /* the same in every attempt: an idempotency key for effects outside */
  taskrt_str behavior, version;
  int64_t attempt;      /* 1, 2, …: every start, also after a lost worker */
  int64_t max_attempts; /* 0: no limit */
  int64_t failures;     /* since the last success */
  uint64_t token;       /* fencing token: larger for every later lease of the cluster */
  taskrt_str parent, partition; /* of an operation */
  int64_t deadline_ms, created_ms; /* Unix; the deadline is the task's */
  taskrt_json labels;
  taskrt_str node, worker;
  int64_t priority;
  taskrt_json all;
} taskrt_info;

bool taskrt_task(taskrt_arena *arena, taskrt_info *info);

int64_t taskrt_now_ms(void);       /* Unix time */
int64_t taskrt_remaining_ms(void); /* of this attempt's run_timeout */
int64_t taskrt_elapsed_ns(void);   /* since the attempt began; never goes back */
void taskrt_sleep_ms(int64_t ms);  /* ends with the attempt; to wait for long, yield */

/* taskrt_random fills memory with the host's randomness. At the start of every attempt memory is the same, and so is the state of any
 * generator in it. It returns 0 or a status. */
int32_t taskrt_random(void *to, size_t n);

/* ---- Signs of life ---- */

enum {
  TASKRT_CANCEL = 1,       /* clean up and return TASKRT_CANCELLED, within cancel_grace */
  TASKRT_LEASE_LOST = 2,   /* stop: nothing that this attempt reports counts any more */
  TASKRT_DRAINING = 4,     /* the worker goes away: save a checkpoint and return taskrt_yield(0) */
  TASKRT_DEADLINE_NEAR = 8 /* of this attempt */
};

/* taskrt_heartbeat says that the attempt makes progress: done of total, in any unit; total 0: unknown. It returns signals. It does
 * not leave the process, so call it often. */
int32_t taskrt_heartbeat(int64_t done, int64_t total);
int32_t taskrt_signals(void);

/* taskrt_cancelled says that the attempt should stop: it is being cancelled, or has lost its lease. */
static inline bool taskrt_cancelled(int32_t signals) { return (signals & (TASKRT_CANCEL | TASKRT_LEASE_LOST)) != 0; }
static inline bool taskrt_draining(int32_t signals) { return (signals & TASKRT_DRAINING) != 0; }

/* Formats of the SDK know %s %.*s %c %d %u %x, with l, ll or z, %g and %%. */
#define TASKRT_TEXT_MAX 2048 /* bytes of a note, a log line or an error; the rest is cut off */

/* taskrt_note replaces the progress note that the next heartbeat sends along. */
void taskrt_note(const char *format, ...) TASKRT_PRINTF(1, 2);

/* taskrt_save stores a checkpoint. When it returns 0, a majority of the cluster has it on disk, and the next attempt finds it wherever
 * it runs. This costs a round of consensus: save every second or so. TASKRT_EAGAIN: nobody leads now; go on, and save later.
 * TASKRT_ECONFLICT: stop. */
int32_t taskrt_save(const void *data, size_t n);

enum { TASKRT_TRACE, TASKRT_DEBUG, TASKRT_INFO, TASKRT_WARN, TASKRT_ERROR };

/* taskrt_log adds a line to the task's log, which is bounded by limits.log_bytes. */
void taskrt_log(int level, const char *format, ...) TASKRT_PRINTF(2, 3);
void taskrt_log_bytes(int level, const void *text, size_t n);
void taskrt_print(const void *text, size_t n);       /* to standard output, which is log too */
void taskrt_print_error(const void *text, size_t n); /* to standard error */

/* taskrt_span is a span of the plugin's own, which stands in the trace of its attempt inside the span that was begun last and has not ended. The
 * arguments behind the name are keys and values in turn, up to NULL; a key is of [a-z0-9_.-]. Text that is too long is cut, what cannot be printed
 * becomes a space, and the first eight attributes count. It is cheap if nobody wants the trace. A host that knows no spans, or has too many open,
 * shows none.
 *
 *   taskrt_span span = taskrt_span_begin("parse", "file", name, (char *)NULL);
 *   …
 *   taskrt_span_end(&span);
 */
typedef struct {
  bool open;
} taskrt_span;

taskrt_span taskrt_span_begin(const char *name, ...);
void taskrt_span_end(taskrt_span *span); /* spans end in the opposite order of their beginning; a second end does nothing */
void taskrt_span_fail(taskrt_span *span, const char *format, ...) TASKRT_PRINTF(2, 3); /* ends it, and says why what it is about failed */

/* ---- Ends ---- */

/* taskrt_succeed gives the result: JSON, or any bytes. Call it once; to write the result in pieces, use a taskrt_result_writer. A result
 * over limits.result_bytes makes the outcome a permanent failure with code too_big. Without a result, return TASKRT_OK. */
taskrt_outcome taskrt_succeed(const void *result, size_t n);

/* These are a failure that is not retried, and one that may be. The code is [a-z0-9_.-]{1,64}, or NULL for HANDLER_ERROR. */
taskrt_outcome taskrt_fail(const char *code, const char *format, ...) TASKRT_PRINTF(2, 3);
taskrt_outcome taskrt_retryable(const char *code, const char *format, ...) TASKRT_PRINTF(2, 3);

/* taskrt_refused turns a status of the host into a retryable failure: "WHAT: text of the status". */
taskrt_outcome taskrt_refused(const char *what, int64_t status);

/* taskrt_details adds JSON, at most 8 KiB, to the failure with which the attempt ends. false: it is longer. */
bool taskrt_details(const void *json, size_t n);

/* taskrt_retry_at is a retryable failure that says when the next attempt should come, in Unix ms. */
taskrt_outcome taskrt_retry_at(int64_t at_ms, const char *code, const char *format, ...) TASKRT_PRINTF(3, 4);

/* taskrt_yield ends without an outcome: the task runs again at the time, or soon with 0. It counts as no failure. */
taskrt_outcome taskrt_yield(int64_t at_ms);

/* taskrt_run_again makes a success run again at the time; the result stands until then. */
void taskrt_run_again(int64_t at_ms);

/* taskrt_panic writes the reason to standard error, and traps; the trap is retried as the manifest's on_trap says. */
_Noreturn void taskrt_panic(const char *format, ...) TASKRT_PRINTF(1, 2);
#define TASKRT_ASSERT(condition) ((condition) ? (void)0 : taskrt_panic("%s:%d: not so: %s", __FILE__, __LINE__, #condition))

/* taskrt_exit ends the attempt as a process does: a retryable failure, NO_RESULT with code 0. */
_Noreturn void taskrt_exit(int code);

/* ---- Reading JSON ----
 *
 * Only the text of strings is copied. Any bytes may be read. Wrong UTF-8 and wrong surrogates become U+FFFD. */

#define TASKRT_JSON_DEPTH 128 /* arrays and objects in one another */

typedef struct {
  size_t at; /* byte */
  const char *what;
} taskrt_json_error;

/* taskrt_json_parse checks a whole text. error may be NULL. */
bool taskrt_json_parse(const void *text, size_t n, taskrt_json *value, taskrt_json_error *error);

/* taskrt_params_json does what taskrt_params and taskrt_json_parse do. If it returns false, return bad_params: the failure that says why. */
bool taskrt_params_json(taskrt_arena *arena, taskrt_json *params, taskrt_outcome *bad_params);

typedef enum {
  TASKRT_JSON_ABSENT,
  TASKRT_JSON_NULL,
  TASKRT_JSON_BOOL,
  TASKRT_JSON_NUMBER,
  TASKRT_JSON_STRING,
  TASKRT_JSON_ARRAY,
  TASKRT_JSON_OBJECT,
} taskrt_json_kind;

taskrt_json_kind taskrt_json_kind_of(taskrt_json value);

/* taskrt_json_get looks for a member. It returns the last one of the name; absent if there is none, or if value is no object. */
taskrt_json taskrt_json_get(taskrt_json object, const char *name);

/* These read the value; false if it is of another kind, or a number out of range. An int64 may be written 1e3 or 1.0. A string is the
 * decoded text; false, too, if the arena is too small. */
bool taskrt_json_int64(taskrt_json value, int64_t *n);
bool taskrt_json_double(taskrt_json value, double *d);
bool taskrt_json_bool(taskrt_json value, bool *b);
bool taskrt_json_string(taskrt_json value, taskrt_arena *arena, taskrt_str *s);
bool taskrt_json_is(taskrt_json value, const char *text); /* this string */

/* taskrt_json_blob reads {"$blob":"sha256:…"}: the name for taskrt_blob. */
bool taskrt_json_blob(taskrt_json value, taskrt_arena *arena, taskrt_str *name);

/* taskrt_json_all goes through members of an object or elements of an array, in order; other kinds have none. In an array the name is absent.
 *
 *   taskrt_json_iter i = taskrt_json_all(list);
 *   for (taskrt_json name, value; taskrt_json_next(&i, &name, &value);) … */
typedef struct {
  const char *at, *end;
  bool named;
} taskrt_json_iter;

taskrt_json_iter taskrt_json_all(taskrt_json value);
bool taskrt_json_next(taskrt_json_iter *iter, taskrt_json *name, taskrt_json *value);

/* taskrt_utf8_decode returns the first character of n > 0 bytes, and its length; U+FFFD and 1 where the bytes are not UTF-8.
 * taskrt_utf8_encode writes a character of up to four bytes, and returns its length. */
uint32_t taskrt_utf8_decode(const char *text, size_t n, size_t *length);
size_t taskrt_utf8_encode(uint32_t c, char *to);

/* ---- Writing ---- */

/* taskrt_writer collects text, or writes JSON. It sets the commas of JSON itself:
 *
 *   taskrt_json_open(&w, '{');
 *   taskrt_json_name(&w, "sum");
 *   taskrt_json_put_int64(&w, 14);
 *   taskrt_json_close(&w, '}');
 *
 * You need not look for errors: after the first error the writer writes nothing, and status says which error it was. */
typedef struct {
  char *buffer;
  size_t length, capacity;
  int32_t channel; /* where a full buffer goes; -1: nowhere, TASKRT_E2BIG */
  int32_t status;
  bool comma;
} taskrt_writer;

/* taskrt_writer_of writes into a buffer; length is then how many bytes of it are used. taskrt_result_writer writes the result, which may
 * be larger than its buffer; end with `return taskrt_finish(&w);`. */
taskrt_writer taskrt_writer_of(void *buffer, size_t capacity);
taskrt_writer taskrt_result_writer(void *buffer, size_t capacity);
taskrt_outcome taskrt_finish(taskrt_writer *result);

void taskrt_put(taskrt_writer *w, const void *bytes, size_t n);
void taskrt_putf(taskrt_writer *w, const char *format, ...) TASKRT_PRINTF(2, 3);
void taskrt_vputf(taskrt_writer *w, const char *format, va_list args);

/* taskrt_format returns a text in an arena, however long it is. Its text is NULL if the arena is too small. */
taskrt_str taskrt_format(taskrt_arena *arena, const char *format, ...) TASKRT_PRINTF(2, 3);

void taskrt_json_open(taskrt_writer *w, char bracket);
void taskrt_json_close(taskrt_writer *w, char bracket);
void taskrt_json_name(taskrt_writer *w, const char *name);
void taskrt_json_name_str(taskrt_writer *w, taskrt_str name);
void taskrt_json_put_string(taskrt_writer *w, const char *s);
void taskrt_json_put_str(taskrt_writer *w, taskrt_str s);
void taskrt_json_put_int64(taskrt_writer *w, int64_t n);
void taskrt_json_put_uint64(taskrt_writer *w, uint64_t n);
void taskrt_json_put_double(taskrt_writer *w, double d); /* so that it reads back as d; TASKRT_EINVAL if d is not finite */
void taskrt_json_put_bool(taskrt_writer *w, bool b);
void taskrt_json_put_null(taskrt_writer *w);
void taskrt_json_put_json(taskrt_writer *w, taskrt_json value); /* as it was written; an absent value as null */

/* ---- Operations ---- */

/* The params of a task of an operation: of a partition, of the completion, or of a cleanup. */
typedef struct {
  taskrt_str operation, target, object;
  taskrt_json arg;      /* the argument with which the operation was started */
  taskrt_str partition; /* of a partition and of its cleanup */
  uint64_t token;       /* of a cleanup: the fencing token of the attempt that it tidies up behind */
  bool success;         /* of a completion: every partition succeeded */
  int64_t succeeded, failed; /* of a completion: partitions */
} taskrt_operation;

/* taskrt_operation_task reads them. If it returns false, return bad_params. */
bool taskrt_operation_task(taskrt_arena *arena, taskrt_operation *task, taskrt_outcome *bad_params);

/* The outcome of a partition. It is valid until the next one is asked for. */
typedef struct {
  int64_t index;
  taskrt_str name, status; /* SUCCESS or FAILURE, when a completion runs */
  taskrt_json result;      /* of a success, if it is JSON */
  taskrt_str bytes;        /* of a success, if it is not */
  taskrt_str blob;         /* of a success that is a blob: its name */
  taskrt_str code, message; /* of a failure */
  bool retryable;
} taskrt_partition;

/* taskrt_partitions goes through the partitions of the operation that the task is part of, from an index on:
 *
 *   taskrt_partitions all = taskrt_partitions_from(0);
 *   for (taskrt_partition p; (status = taskrt_next_partition(&all, &p)) > 0;) …
 *
 * It ends with 0, or with a status: TASKRT_EDENIED (the task is part of no operation), TASKRT_EAGAIN, TASKRT_ECONFLICT. all has an arena of its
 * own, used anew for each page of at most 1 MiB. An arena of a buffer may be put in its place; TASKRT_E2BIG says that a page does not fit. */
typedef struct {
  taskrt_arena arena;
  int64_t next;
  void *page;
  taskrt_json_iter iter;
} taskrt_partitions;

taskrt_partitions taskrt_partitions_from(int64_t index);
int32_t taskrt_next_partition(taskrt_partitions *all, taskrt_partition *p);

/* ---- The ABI itself (abi/README.md) ---- */

enum { TASKRT_CH_PARAMS, TASKRT_CH_INFO, TASKRT_CH_CHECKPOINT, TASKRT_CH_RESPONSE, TASKRT_CH_CONFIG };
enum { TASKRT_CH_RESULT = 16, TASKRT_CH_ERROR, TASKRT_CH_NOTE, TASKRT_CH_MANIFEST, TASKRT_CH_NEXT_TIME };
enum { TASKRT_OP_SAVE = 1, TASKRT_OP_RANDOM = 6, TASKRT_OP_PARTITIONS = 8, TASKRT_OP_BLOB_SIZE = 9, TASKRT_OP_BLOB_READ = 10, TASKRT_OP_SPAN_BEGIN = 11, TASKRT_OP_SPAN_END = 12 };

/* taskrt_call makes a request that has no function here, and reads the response. TASKRT_E2BIG also says that the response does not fit the arena. */
int32_t taskrt_call(taskrt_arena *arena, int32_t op, const void *payload, size_t n, taskrt_str *response);

TASKRT_IMPORT("taskrt_v1", "len") int32_t taskrt_abi_len(int32_t channel);
TASKRT_IMPORT("taskrt_v1", "read") int32_t taskrt_abi_read(int32_t channel, void *to, uint32_t offset, uint32_t n);
TASKRT_IMPORT("taskrt_v1", "write") int32_t taskrt_abi_write(int32_t channel, const void *from, uint32_t n);
TASKRT_IMPORT("taskrt_v1", "log") void taskrt_abi_log(int32_t level, const void *text, uint32_t n);
TASKRT_IMPORT("taskrt_v1", "beat") int32_t taskrt_abi_beat(int64_t done, int64_t total);
TASKRT_IMPORT("taskrt_v1", "signals") int32_t taskrt_abi_signals(void);
TASKRT_IMPORT("taskrt_v1", "clock") int64_t taskrt_abi_clock(int32_t id);
TASKRT_IMPORT("taskrt_v1", "call") int32_t taskrt_abi_call(int32_t op, const void *payload, uint32_t n);
TASKRT_IMPORT("wasi_snapshot_preview1", "fd_write") int32_t taskrt_wasi_fd_write(int32_t fd, const void *parts, int32_t n, void *written);
TASKRT_IMPORT("wasi_snapshot_preview1", "poll_oneoff") int32_t taskrt_wasi_poll_oneoff(const void *in, void *out, int32_t n, void *ready);
TASKRT_IMPORT("wasi_snapshot_preview1", "proc_exit") _Noreturn void taskrt_wasi_proc_exit(int32_t code);

#endif /* TASKRT_H */

#if defined(TASKRT_IMPLEMENTATION) && !defined(TASKRT_IMPLEMENTED)
#define TASKRT_IMPLEMENTED

#if !defined(TASKRT_MALLOC) && (defined(__wasi__) || !defined(__wasm__))
#include <stdlib.h>
#define TASKRT_MALLOC malloc
#endif

/* ---- What a compiler calls without being told to; a libc that is linked too need not have it ---- */

#if defined(__wasm__)
__attribute__((weak, no_builtin)) void *memcpy(void *to, const void *from, size_t n) {
#if defined(__wasm_bulk_memory__)
  __builtin_memcpy(to, from, n);
#else
  for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
#endif
  return to;
}

__attribute__((weak, no_builtin)) void *memmove(void *to, const void *from, size_t n) {
#if defined(__wasm_bulk_memory__)
  __builtin_memmove(to, from, n);
#else
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, n);
  while (n-- > 0) ((char *)to)[n] = ((const char *)from)[n];
#endif
  return to;
}

__attribute__((weak, no_builtin)) void *memset(void *to, int c, size_t n) {
#if defined(__wasm_bulk_memory__)
  __builtin_memset(to, c, n);
#else
  for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)c;
#endif
  return to;
}

__attribute__((weak, no_builtin)) int memcmp(const void *a, const void *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int d = ((const unsigned char *)a)[i] - ((const unsigned char *)b)[i];
    if (d != 0) return d;
  }
  return 0;
}

__attribute__((weak, no_builtin)) size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n] != 0) n++;
  return n;
}

/* Products of 128 bits: clang turns some loops over 64 bits into a formula that needs them. */
__extension__ typedef __int128 taskrt__int128;
__extension__ typedef unsigned __int128 taskrt__uint128;

__attribute__((weak)) taskrt__int128 __multi3(taskrt__int128 x, taskrt__int128 y) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y, a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
  uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);
  high += (uint64_t)((taskrt__uint128)x >> 64) * b + a * (uint64_t)((taskrt__uint128)y >> 64);
  return (taskrt__int128)((taskrt__uint128)high << 64 | (other << 32 | (uint32_t)low));
}
#endif

/* ---- Memory ---- */

bool taskrt_str_is(taskrt_str s, const char *text) {
  size_t n = __builtin_strlen(text);
  return s.length == n && __builtin_memcmp(s.text, text, n) == 0;
}

taskrt_arena taskrt_arena_of(void *buffer, size_t size) {
  return (taskrt_arena){.begin = buffer, .at = buffer, .end = (char *)buffer + size, .fixed = true};
}

/* taskrt__grow makes room for n bytes. */
static void taskrt__grow(taskrt_arena *a, size_t n) {
#if defined(TASKRT_MALLOC)
  size_t size = n + 16;
#if defined(__wasm__)
  if (size < 32 << 10) size = 32 << 10;
#endif /* natively one for each, for tools that look for mistakes */
  char *chunk = size > n ? TASKRT_MALLOC(size) : NULL;
  if (chunk == NULL) __builtin_trap();
  a->begin = a->at = chunk;
  a->end = chunk + size;
#else /* behind what there is, if nobody else has grown the memory */
  const size_t page = 65536;
  size_t pages = n / page + (n % page + 16 + page - 1) / page, most = 1 << 14; /* 1 GiB, which no host gives: that makes it OUT_OF_MEMORY */
  size_t old = __builtin_wasm_memory_grow(0, pages < most ? pages : most);
  if (old == SIZE_MAX || pages >= most) __builtin_trap();
  if (a->end != (char *)(old * page)) a->begin = a->at = (char *)(old * page);
  a->end = (char *)(__builtin_wasm_memory_size(0) * page);
#endif
}

static char *taskrt__fit(const taskrt_arena *a, size_t n) {
  size_t pad = -(uintptr_t)a->at & 15, left = (size_t)(a->end - a->at);
  return a->at != NULL && left >= pad && left - pad >= n ? a->at + pad : NULL;
}

void *taskrt_alloc(taskrt_arena *a, size_t n) {
  char *p = taskrt__fit(a, n);
  if (p == NULL && !a->fixed) {
    taskrt__grow(a, n);
    p = taskrt__fit(a, n);
  }
  if (p != NULL) a->at = p + n;
  return p;
}

void *taskrt_mark(taskrt_arena *a) { return a->at; }

void taskrt_release(taskrt_arena *a, void *mark) {
  char *to = mark;
  a->at = (uintptr_t)to >= (uintptr_t)a->begin && (uintptr_t)to <= (uintptr_t)a->at ? to : a->begin;
}

/* ---- Input ---- */

const char *taskrt_status_text(int64_t status) {
  switch (status) {
  case TASKRT_ENOSYS: return "this host does not offer it";
  case TASKRT_E2BIG: return "over a limit";
  case TASKRT_ENOENT: return "not there";
  case TASKRT_EAGAIN: return "not possible now; try again later";
  case TASKRT_EDENIED: return "not granted";
  case TASKRT_ECONFLICT: return "the lease is lost";
  }
  return "refused as invalid";
}

/* taskrt__read_all reads a channel; 0, or a status, TASKRT_E2BIG where the arena is too small. */
static int32_t taskrt__read_all(taskrt_arena *arena, int32_t channel, taskrt_str *s) {
  *s = (taskrt_str){0};
  int32_t n = taskrt_abi_len(channel);
  if (n < 0) return n;
  char *p = taskrt_alloc(arena, (size_t)n + 1);
  s->text = "";
  if (p == NULL) return TASKRT_E2BIG;
  uint32_t got = 0;
  while (got < (uint32_t)n) {
    int32_t more = taskrt_abi_read(channel, p + got, got, (uint32_t)n - got);
    if (more <= 0) __builtin_trap(); /* the host announced it */
    got += (uint32_t)more;
  }
  p[n] = 0;
  *s = (taskrt_str){p, (size_t)n};
  return 0;
}

bool taskrt_params(taskrt_arena *arena, taskrt_str *s) { return taskrt__read_all(arena, TASKRT_CH_PARAMS, s) == 0; }
bool taskrt_checkpoint(taskrt_arena *arena, taskrt_str *s) { return taskrt__read_all(arena, TASKRT_CH_CHECKPOINT, s) == 0; }
bool taskrt_config(taskrt_arena *arena, taskrt_str *s) { return taskrt__read_all(arena, TASKRT_CH_CONFIG, s) == 0; }

static bool taskrt__channel_reader(taskrt_reader *r, int32_t channel) {
  int32_t n = taskrt_abi_len(channel);
  *r = (taskrt_reader){.size = n < 0 ? 0 : n, .channel = channel};
  return n >= 0;
}

taskrt_reader taskrt_params_reader(void) {
  taskrt_reader r;
  taskrt__channel_reader(&r, TASKRT_CH_PARAMS);
  return r;
}

bool taskrt_checkpoint_reader(taskrt_reader *r) { return taskrt__channel_reader(r, TASKRT_CH_CHECKPOINT); }

/* Numbers of the ABI have their lowest byte first. */
static void taskrt__put_number(unsigned char *to, uint64_t n, int size) {
  for (int i = 0; i < size; i++, n >>= 8) to[i] = (unsigned char)n;
}

int32_t taskrt_blob(taskrt_reader *r, taskrt_str name) {
  *r = (taskrt_reader){.channel = TASKRT_CH_RESPONSE};
  if (name.length != sizeof r->blob) return TASKRT_EINVAL;
  __builtin_memcpy(r->blob, name.text, sizeof r->blob);
  int32_t n = taskrt_abi_call(TASKRT_OP_BLOB_SIZE, name.text, (uint32_t)name.length);
  if (n < 0) return n;
  unsigned char size[8];
  if (taskrt_abi_read(TASKRT_CH_RESPONSE, size, 0, sizeof size) != sizeof size) return TASKRT_EINVAL;
  for (int i = 7; i >= 0; i--) r->size = (int64_t)((uint64_t)r->size << 8 | size[i]);
  return 0;
}

int32_t taskrt_read(taskrt_reader *r, void *to, size_t n) {
  if (r->at < 0) return TASKRT_EINVAL;
  if (r->at >= r->size || n == 0) return 0;
  if ((uint64_t)(r->size - r->at) < n) n = (size_t)(r->size - r->at);
  int32_t got;
  if (r->channel != TASKRT_CH_RESPONSE) {
    got = taskrt_abi_read(r->channel, to, (uint32_t)r->at, (uint32_t)n);
  } else {
    unsigned char request[sizeof r->blob + 12];
    if (n > 1 << 20) n = 1 << 20;
    __builtin_memcpy(request, r->blob, sizeof r->blob);
    taskrt__put_number(request + sizeof r->blob, (uint64_t)r->at, 8);
    taskrt__put_number(request + sizeof r->blob + 8, n, 4);
    got = taskrt_abi_call(TASKRT_OP_BLOB_READ, request, sizeof request);
    if (got >= 0 && ((size_t)got > n || taskrt_abi_read(TASKRT_CH_RESPONSE, to, 0, (uint32_t)got) != got)) return TASKRT_EINVAL;
  }
  if (got > 0) r->at += got;
  return got == 0 ? TASKRT_EINVAL : got; /* there is more */
}

int32_t taskrt_call(taskrt_arena *arena, int32_t op, const void *payload, size_t n, taskrt_str *response) {
  int32_t got = taskrt_abi_call(op, payload, (uint32_t)n);
  return got < 0 ? got : taskrt__read_all(arena, TASKRT_CH_RESPONSE, response);
}

/* ---- Task and time ---- */

static taskrt_str taskrt__member_str(taskrt_json object, const char *name, taskrt_arena *arena) {
  taskrt_str s = TASKRT_STR("");
  taskrt_json_string(taskrt_json_get(object, name), arena, &s);
  return s;
}

static int64_t taskrt__member_int(taskrt_json object, const char *name) {
  int64_t n = 0;
  taskrt_json_int64(taskrt_json_get(object, name), &n);
  return n;
}

bool taskrt_task(taskrt_arena *arena, taskrt_info *info) {
  taskrt_str text;
  taskrt_json all;
  *info = (taskrt_info){0};
  if (taskrt__read_all(arena, TASKRT_CH_INFO, &text) != 0 || !taskrt_json_parse(text.text, text.length, &all, NULL)) return false;
  *info = (taskrt_info){
      .space = taskrt__member_str(all, "namespace", arena),
      .id = taskrt__member_str(all, "id", arena),
      .behavior = taskrt__member_str(all, "behavior", arena),
      .version = taskrt__member_str(all, "version", arena),
      .attempt = taskrt__member_int(all, "attempt"),
      .max_attempts = taskrt__member_int(all, "max_attempts"),
      .failures = taskrt__member_int(all, "failures"),
      .token = (uint64_t)taskrt__member_int(all, "token"),
      .parent = taskrt__member_str(all, "parent", arena),
      .partition = taskrt__member_str(all, "partition", arena),
      .deadline_ms = taskrt__member_int(all, "deadline_ms"),
      .created_ms = taskrt__member_int(all, "created_ms"),
      .labels = taskrt_json_get(all, "labels"),
      .node = taskrt__member_str(all, "node", arena),
      .worker = taskrt__member_str(all, "worker", arena),
      .priority = taskrt__member_int(all, "priority"),
      .all = all,
  };
  return true;
}

int64_t taskrt_now_ms(void) { return taskrt_abi_clock(0); }
int64_t taskrt_remaining_ms(void) { return taskrt_abi_clock(1); }
int64_t taskrt_elapsed_ns(void) { return taskrt_abi_clock(2); }

void taskrt_sleep_ms(int64_t ms) {
  if (ms <= 0) return;
  uint64_t ns = (uint64_t)ms > UINT64_MAX / 2 / 1000000 ? UINT64_MAX / 2 : (uint64_t)ms * 1000000;
  /* A subscription of WASI's: data of its own, what to (a clock), which one (monotonic), for how long, how exactly, relative. */
  uint64_t in[6] = {0, 0, 1, ns, 0, 0};
  uint64_t out[4];
  uint32_t ready;
  taskrt_wasi_poll_oneoff(in, out, 1, &ready);
}

int32_t taskrt_random(void *to, size_t n) {
  unsigned char *p = to;
  while (n > 0) {
    uint32_t piece = n < 65536 ? (uint32_t)n : 65536;
    unsigned char request[4];
    taskrt__put_number(request, piece, 4);
    int32_t got = taskrt_abi_call(TASKRT_OP_RANDOM, request, sizeof request);
    if (got < 0) return got;
    if (taskrt_abi_read(TASKRT_CH_RESPONSE, p, 0, piece) != (int32_t)piece) return TASKRT_EINVAL;
    p += piece, n -= piece;
  }
  return 0;
}

/* ---- Signs of life ---- */

int32_t taskrt_heartbeat(int64_t done, int64_t total) {
  int32_t s = taskrt_abi_beat(done, total);
  return s < 0 ? 0 : s;
}

int32_t taskrt_signals(void) {
  int32_t s = taskrt_abi_signals();
  return s < 0 ? 0 : s;
}

/* taskrt__text formats, and cuts between characters. */
static taskrt_str taskrt__text(char *to, size_t capacity, const char *format, va_list args) {
  taskrt_writer w = taskrt_writer_of(to, capacity);
  taskrt_vputf(&w, format, args);
  size_t whole = 0, n;
  if (w.status != 0) { /* cut */
    for (size_t at = 0; at < w.length; at += n) {
      uint32_t c = taskrt_utf8_decode(to + at, w.length - at, &n);
      whole = c != 0xfffd || n > 1 || w.length - at > 3 ? at + n : whole;
    }
    w.length = whole;
  }
  return (taskrt_str){to, w.length};
}

void taskrt_note(const char *format, ...) {
  char text[TASKRT_TEXT_MAX];
  va_list args;
  va_start(args, format);
  taskrt_str s = taskrt__text(text, sizeof text, format, args);
  va_end(args);
  taskrt_abi_write(TASKRT_CH_NOTE, s.text, (uint32_t)s.length);
}

int32_t taskrt_save(const void *data, size_t n) {
  int32_t status = taskrt_abi_call(TASKRT_OP_SAVE, data, (uint32_t)n);
  return status < 0 ? status : 0;
}

void taskrt_log(int level, const char *format, ...) {
  char text[TASKRT_TEXT_MAX];
  va_list args;
  va_start(args, format);
  taskrt_str s = taskrt__text(text, sizeof text, format, args);
  va_end(args);
  taskrt_log_bytes(level, s.text, s.length);
}

void taskrt_log_bytes(int level, const void *text, size_t n) { taskrt_abi_log(level, text, (uint32_t)n); }

/* taskrt__span_text appends text that the host takes, of at most so many bytes. */
static size_t taskrt__span_text(char *to, const char *text, size_t length, size_t most) {
  size_t used = 0;
  for (size_t at = 0, n; at < length; at += n) {
    uint32_t c = taskrt_utf8_decode(text + at, length - at, &n);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffd) c = ' ';
    char one[4];
    size_t size = taskrt_utf8_encode(c, one);
    if (used + size > most) break;
    __builtin_memcpy(to + used, one, size);
    used += size;
  }
  return used;
}

enum { TASKRT__SPAN_NAME = 64, TASKRT__SPAN_TEXT = 256, TASKRT__SPAN_ATTRIBUTES = 8 };

taskrt_span taskrt_span_begin(const char *name, ...) {
  char payload[TASKRT__SPAN_NAME + TASKRT__SPAN_ATTRIBUTES * (1 + TASKRT__SPAN_NAME + 1 + TASKRT__SPAN_TEXT)];
  size_t n = taskrt__span_text(payload, name, __builtin_strlen(name), TASKRT__SPAN_NAME);
  if (n == 0) n = taskrt__span_text(payload, "span", 4, TASKRT__SPAN_NAME);
  va_list args;
  va_start(args, name);
  for (int i = 0; i < TASKRT__SPAN_ATTRIBUTES; i++) {
    const char *key = va_arg(args, const char *);
    if (key == NULL) break;
    const char *value = va_arg(args, const char *);
    if (value == NULL) break;
    payload[n++] = '\n';
    n += taskrt__span_text(payload + n, key, __builtin_strlen(key), TASKRT__SPAN_NAME);
    payload[n++] = '=';
    n += taskrt__span_text(payload + n, value, __builtin_strlen(value), TASKRT__SPAN_TEXT);
  }
  va_end(args);
  return (taskrt_span){.open = taskrt_abi_call(TASKRT_OP_SPAN_BEGIN, payload, (uint32_t)n) >= 0};
}

static void taskrt__span_over(taskrt_span *span, const char *why, size_t n) {
  if (span->open) taskrt_abi_call(TASKRT_OP_SPAN_END, why, (uint32_t)n); /* a span says nothing of the outcome */
  span->open = false;
}

void taskrt_span_end(taskrt_span *span) { taskrt__span_over(span, "", 0); }

void taskrt_span_fail(taskrt_span *span, const char *format, ...) {
  char text[TASKRT_TEXT_MAX], why[TASKRT__SPAN_TEXT];
  va_list args;
  va_start(args, format);
  taskrt_str s = taskrt__text(text, sizeof text, format, args);
  va_end(args);
  size_t n = taskrt__span_text(why, s.text, s.length, sizeof why);
  if (n == 0) n = taskrt__span_text(why, "failed", 6, sizeof why);
  taskrt__span_over(span, why, n);
}

static void taskrt__fd_write(int32_t fd, const void *text, size_t n) {
  struct {
    const void *text;
    size_t n;
  } part = {text, n};
  size_t written;
  taskrt_wasi_fd_write(fd, &part, 1, &written);
}

void taskrt_print(const void *text, size_t n) { taskrt__fd_write(1, text, n); }
void taskrt_print_error(const void *text, size_t n) { taskrt__fd_write(2, text, n); }

/* ---- Ends ---- */

/* taskrt__end is what the attempt says when its function has returned: the last word counts. */
static struct {
  char code[80], message[TASKRT_TEXT_MAX], details[8192];
  size_t message_length, details_length;
  int64_t again; /* of a success */
  int64_t at;    /* of a failure or a yield */
} taskrt__end;

static void taskrt__set_error(int64_t at_ms, const char *code, const char *format, va_list args) {
  taskrt_writer w = taskrt_writer_of(taskrt__end.code, sizeof taskrt__end.code);
  if (code != NULL) taskrt_put(&w, code, __builtin_strlen(code));
  taskrt_put(&w, "", 1);
  if (w.status != 0) taskrt__end.code[0] = 0; /* too long: none */
  taskrt__end.message_length = taskrt__text(taskrt__end.message, sizeof taskrt__end.message, format, args).length;
  taskrt__end.at = at_ms;
}

taskrt_outcome taskrt_succeed(const void *result, size_t n) {
  taskrt_writer w = taskrt_result_writer((void *)(uintptr_t)result, n); /* a full buffer, which is not written to */
  w.length = n;
  return taskrt_finish(&w);
}

taskrt_outcome taskrt_fail(const char *code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  taskrt__set_error(0, code, format, args);
  va_end(args);
  return TASKRT_PERMANENT;
}

taskrt_outcome taskrt_retryable(const char *code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  taskrt__set_error(0, code, format, args);
  va_end(args);
  return TASKRT_RETRYABLE;
}

taskrt_outcome taskrt_retry_at(int64_t at_ms, const char *code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  taskrt__set_error(at_ms, code, format, args);
  va_end(args);
  return TASKRT_RETRYABLE;
}

taskrt_outcome taskrt_refused(const char *what, int64_t status) {
  return taskrt_retryable(NULL, "%s: %s", what, taskrt_status_text(status));
}

bool taskrt_details(const void *json, size_t n) {
  if (n > sizeof taskrt__end.details) return false;
  __builtin_memcpy(taskrt__end.details, json, n);
  taskrt__end.details_length = n;
  return true;
}

taskrt_outcome taskrt_yield(int64_t at_ms) {
  taskrt__end.at = at_ms;
  return TASKRT_YIELD;
}

void taskrt_run_again(int64_t at_ms) { taskrt__end.again = at_ms; }

_Noreturn void taskrt_panic(const char *format, ...) {
  char text[TASKRT_TEXT_MAX];
  va_list args;
  va_start(args, format);
  taskrt_str s = taskrt__text(text, sizeof text - 1, format, args);
  va_end(args);
  text[s.length] = '\n';
  taskrt_print_error(text, s.length + 1);
  __builtin_trap();
}

_Noreturn void taskrt_exit(int code) { taskrt_wasi_proc_exit(code); }

/* taskrt__error_json writes {"code","message","details"}. */
static void taskrt__error_json(taskrt_writer *w, bool with_details) {
  taskrt_str text = {taskrt__end.details, taskrt__end.details_length};
  taskrt_json details;
  taskrt_json_open(w, '{');
  if (taskrt__end.code[0] != 0) {
    taskrt_json_name(w, "code");
    taskrt_json_put_string(w, taskrt__end.code);
  }
  taskrt_json_name(w, "message");
  taskrt_json_put_str(w, (taskrt_str){taskrt__end.message, taskrt__end.message_length});
  if (with_details && text.length > 0) {
    taskrt_json_name(w, "details");
    if (taskrt_json_parse(text.text, text.length, &details, NULL)) {
      taskrt_json_put_json(w, details);
    } else {
      taskrt_json_put_str(w, text);
    }
  }
  taskrt_json_close(w, '}');
}

static void taskrt__write_error(void) {
  static char buffer[16 << 10]; /* the channel's limit */
  taskrt_writer w = taskrt_writer_of(buffer, sizeof buffer);
  taskrt__error_json(&w, true);
  if (w.status != 0) { /* too much: the message is what cannot be done without */
    w = taskrt_writer_of(buffer, sizeof buffer);
    taskrt__error_json(&w, false);
  }
  taskrt_abi_write(TASKRT_CH_ERROR, buffer, (uint32_t)w.length);
}

static void taskrt__write_time(int64_t at_ms) {
  char buffer[20];
  if (at_ms == 0) return;
  taskrt_writer w = taskrt_writer_of(buffer, sizeof buffer);
  taskrt_putf(&w, "%lld", (long long)at_ms);
  taskrt_abi_write(TASKRT_CH_NEXT_TIME, buffer, (uint32_t)w.length);
}

/* taskrt__pick finds the behavior. The index is its place in the manifest; where a module has several, the task's own word for it
 * goes first, because a manifest given at upload may list them in another order. */
static const taskrt_behavior *taskrt__pick(int32_t index) {
  taskrt_arena arena = {0};
  taskrt_str text;
  taskrt_json info;
  if (taskrt_behavior_count > 1 && taskrt__read_all(&arena, TASKRT_CH_INFO, &text) == 0 && taskrt_json_parse(text.text, text.length, &info, NULL)) {
    taskrt_json name = taskrt_json_get(info, "behavior");
    for (size_t i = 0; i < taskrt_behavior_count; i++) {
      if (taskrt_json_is(name, taskrt_behaviors[i].name)) return &taskrt_behaviors[i];
    }
  }
  return index >= 0 && (size_t)index < taskrt_behavior_count ? &taskrt_behaviors[index] : NULL;
}

TASKRT_EXPORT("taskrt_run") int32_t taskrt_run(int32_t index) {
  const taskrt_behavior *b = taskrt__pick(index);
  taskrt_outcome outcome = b != NULL ? b->run() : taskrt_fail("unknown_behavior", "this module has no behavior number %d", (int)index);
  switch (outcome) {
  case TASKRT_OK: taskrt__write_time(taskrt__end.again); break;
  case TASKRT_RETRYABLE: taskrt__write_time(taskrt__end.at); /* fall through */
  case TASKRT_PERMANENT: taskrt__write_error(); break;
  case TASKRT_YIELD: taskrt__write_time(taskrt__end.at); break;
  case TASKRT_CANCELLED: break;
  }
  return (int32_t)outcome;
}

/* ---- UTF-8 ---- */

uint32_t taskrt_utf8_decode(const char *text, size_t n, size_t *length) {
  const unsigned char *s = (const unsigned char *)text;
  *length = 1;
  if (s[0] < 0x80) return s[0];
  size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4 || n < size) return 0xfffd;
  uint32_t c = s[0] & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0xfffd;
    c = c << 6 | (s[i] & 0x3f);
  }
  if ((size == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (size == 4 && (c < 0x10000 || c > 0x10ffff))) return 0xfffd;
  *length = size;
  return c;
}

size_t taskrt_utf8_encode(uint32_t c, char *to) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = size - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
  to[0] = (char)((0xf00u >> size & 0xf0) | c);
  return size;
}

/* ---- Numbers ----
 *
 * Doubles are read and written exactly, by whole numbers of many digits; what is short goes without. */

enum { TASKRT__WORDS = 160, TASKRT__DIGITS = 800 }; /* of 32 bits: 10^1130 and 64 bits more; digits beyond 800 only tell ties */

typedef struct {
  uint32_t word[TASKRT__WORDS];
  int n; /* words in use; the last one is not zero */
} taskrt__big;

static void taskrt__big_multiply_add(taskrt__big *b, uint32_t factor, uint32_t add) {
  uint64_t carry = add;
  for (int i = 0; i < b->n; i++) {
    carry += (uint64_t)b->word[i] * factor;
    b->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry > 0 && b->n < TASKRT__WORDS) b->word[b->n++] = (uint32_t)carry;
}

static void taskrt__big_shift(taskrt__big *b, int bits) {
  int words = bits / 32;
  if (b->n == 0 || b->n + words + 1 > TASKRT__WORDS) return;
  for (int i = b->n - 1; words > 0 && i >= 0; i--) b->word[i + words] = b->word[i];
  for (int i = 0; i < words; i++) b->word[i] = 0;
  b->n += words;
  if (bits % 32 > 0) taskrt__big_multiply_add(b, (uint32_t)1 << bits % 32, 0);
}

static void taskrt__big_power(taskrt__big *b, int64_t ten) {
  for (; ten >= 9; ten -= 9) taskrt__big_multiply_add(b, 1000000000, 0);
  for (; ten > 0; ten--) taskrt__big_multiply_add(b, 10, 0);
}

static void taskrt__big_set(taskrt__big *b, uint64_t n) {
  b->n = 0;
  for (; n > 0; n >>= 32) b->word[b->n++] = (uint32_t)n;
}

static int taskrt__big_bits(const taskrt__big *b) { return b->n == 0 ? 0 : 32 * b->n - __builtin_clz(b->word[b->n - 1]); }

static bool taskrt__big_less(const taskrt__big *a, const taskrt__big *b) {
  if (a->n != b->n) return a->n < b->n;
  for (int i = a->n - 1; i >= 0; i--) {
    if (a->word[i] != b->word[i]) return a->word[i] < b->word[i];
  }
  return false;
}

static void taskrt__big_subtract(taskrt__big *a, const taskrt__big *b) { /* b is not more */
  uint64_t borrow = 0;
  for (int i = 0; i < a->n; i++) {
    uint64_t d = (uint64_t)a->word[i] - (i < b->n ? b->word[i] : 0) - borrow;
    a->word[i] = (uint32_t)d;
    borrow = d >> 63;
  }
  while (a->n > 0 && a->word[a->n - 1] == 0) a->n--;
}

/* taskrt__big_divide returns the first bits of a / b, where that is less than 2, and leaves in a whether there are more. */
static uint64_t taskrt__big_divide(taskrt__big *a, const taskrt__big *b, int bits) {
  uint64_t q = 0;
  while (bits-- > 0) {
    q <<= 1;
    if (!taskrt__big_less(a, b)) {
      taskrt__big_subtract(a, b);
      q |= 1;
    }
    taskrt__big_multiply_add(a, 2, 0);
  }
  return q;
}

/* taskrt__number is a number of JSON as it stands: digits without zeros around, times a power of ten. */
typedef struct {
  const char *first, *last; /* digits, with the point among them; first is behind last where the number is 0 */
  int64_t count;            /* of digits */
  int64_t ten;              /* the power by which the number of those digits is to be multiplied */
  bool negative;
} taskrt__number;

static taskrt__number taskrt__split(taskrt_json v) {
  const char *p = v.text, *end = v.text + v.length, *point = NULL;
  taskrt__number n = {.negative = *p == '-'};
  int64_t exponent = 0;
  const char *stop = p + n.negative;
  for (p = stop; stop < end && *stop != 'e' && *stop != 'E'; stop++) {
    if (*stop == '.') point = stop;
  }
  if (stop < end) {
    const char *e = stop + 1;
    bool minus = *e == '-';
    for (e += minus || *e == '+'; e < end; e++) exponent = exponent < 1000000000 ? exponent * 10 + (*e - '0') : exponent;
    exponent = minus ? -exponent : exponent;
  }
  n.first = p, n.last = stop - 1;
  while (n.first <= n.last && (*n.first == '0' || *n.first == '.')) n.first++;
  while (n.last >= n.first && (*n.last == '0' || *n.last == '.')) n.last--;
  if (point == NULL) point = stop;
  n.count = n.last - n.first + 1 - (n.first < point && point < n.last);
  n.ten = exponent + (point > n.last ? point - n.last - 1 : point - n.last);
  return n;
}

bool taskrt_json_int64(taskrt_json value, int64_t *result) {
  if (taskrt_json_kind_of(value) != TASKRT_JSON_NUMBER) return false;
  taskrt__number n = taskrt__split(value);
  if (n.count == 0) return *result = 0, true;
  if (n.ten < 0 || n.count + n.ten > 19) return false;
  uint64_t u = 0, limit = (uint64_t)INT64_MAX + n.negative;
  for (const char *p = n.first; p <= n.last; p++) u = *p == '.' ? u : u * 10 + (uint64_t)(*p - '0');
  for (int64_t i = 0; i < n.ten; i++) u *= 10;
  if (u > limit) return false;
  *result = n.negative ? (int64_t)(0 - u) : (int64_t)u;
  return true;
}

static double taskrt__double_of(uint64_t bits) {
  double d;
  __builtin_memcpy(&d, &bits, sizeof d);
  return d;
}

/* taskrt__round returns the double nearest to q × 2^exponent and a little more if there is a rest; q has its highest bit in 62 or 63. */
static uint64_t taskrt__round(uint64_t q, int exponent, bool rest) {
  int bits = 64 - __builtin_clzll(q);
  int top = exponent + bits - 1, keep = top >= -1022 ? 53 : 53 - (-1022 - top);
  if (keep < 0) return 0;
  int drop = bits - keep;
  uint64_t m = drop < 64 ? q >> drop : 0, half = (uint64_t)1 << (drop - 1), tail = q & ((half << 1) - 1);
  if (tail > half || (tail == half && (rest || (m & 1) != 0))) m++;
  if (keep < 53) return m; /* subnormal; a carry makes it the first that is not */
  /* m has 53 bits, or is 2^53 by a carry: added to the exponent in front of it, it is right in both cases. */
  uint64_t e = (uint64_t)(top + 1022);
  return e > 2045 ? (uint64_t)0x7ff << 52 : (e << 52) + m;
}

/* taskrt__exact returns the double nearest to the number, by whole numbers. */
static double taskrt__exact(taskrt__number n) {
  taskrt__big a = {.n = 0}, b;
  int64_t taken = 0;
  for (const char *p = n.first; p <= n.last && taken < TASKRT__DIGITS; p++) {
    if (*p == '.') continue;
    taskrt__big_multiply_add(&a, 10, (uint32_t)(*p - '0'));
    taken++;
  }
  bool more = taken < n.count;
  n.ten += n.count - taken;
  taskrt__big_set(&b, 1);
  if (n.ten > 0) taskrt__big_power(&a, n.ten);
  if (n.ten < 0) taskrt__big_power(&b, -n.ten);
  int k = taskrt__big_bits(&a) - taskrt__big_bits(&b);
  if (k > 0) taskrt__big_shift(&b, k);
  if (k < 0) taskrt__big_shift(&a, -k);
  uint64_t q = taskrt__big_divide(&a, &b, 64);
  return taskrt__double_of(taskrt__round(q, k - 63, more || a.n > 0));
}

bool taskrt_json_double(taskrt_json value, double *result) {
  if (taskrt_json_kind_of(value) != TASKRT_JSON_NUMBER) return false;
  taskrt__number n = taskrt__split(value);
  double d = 0;
  if (n.count + n.ten > 310) return n.count == 0 ? (*result = n.negative ? -d : d, true) : false;
  if (n.count > 0 && n.count <= 15 && n.ten >= -22 && n.ten <= 22) { /* both are exact, and so is what one operation rounds */
    uint64_t u = 0;
    for (const char *p = n.first; p <= n.last; p++) u = *p == '.' ? u : u * 10 + (uint64_t)(*p - '0');
    double power = 1;
    for (int64_t i = n.ten < 0 ? -n.ten : n.ten; i > 0; i--) power *= 10;
    d = n.ten < 0 ? (double)u / power : (double)u * power;
  } else if (n.count > 0 && n.count + n.ten >= -330) {
    d = taskrt__exact(n);
  }
  if (d > 1.7976931348623157e308) return false;
  *result = n.negative ? -d : d;
  return true;
}

/* taskrt__digits returns the first `count` digits of m × 2^e, rounded, as a number, and the power of ten of the first one. */
static uint64_t taskrt__digits(uint64_t m, int e, int count, int *ten) {
  uint64_t low = 1;
  for (int i = 1; i < count; i++) low *= 10;
  for (;;) {
    taskrt__big a, b;
    int s = count - 1 - *ten;
    taskrt__big_set(&a, m);
    taskrt__big_set(&b, 1);
    if (s > 0) taskrt__big_power(&a, s);
    if (s < 0) taskrt__big_power(&b, -s);
    if (e > 0) taskrt__big_shift(&a, e);
    if (e < 0) taskrt__big_shift(&b, -e);
    int k = taskrt__big_bits(&a) - taskrt__big_bits(&b);
    if (k >= 0) taskrt__big_shift(&b, k);
    uint64_t q = k < 0 ? 0 : taskrt__big_divide(&a, &b, k + 1); /* a is now twice the rest, by 2^k */
    if (q < low) { /* the guess was too high: at most by one */
      --*ten;
    } else if (q >= low * 10) {
      ++*ten;
    } else {
      bool half = !taskrt__big_less(&a, &b), above = taskrt__big_less(&b, &a);
      q += above || (half && (q & 1) != 0);
      return q < low * 10 ? q : (++*ten, low);
    }
  }
}

/* ---- Reading JSON ---- */

typedef struct {
  const char *at, *end, *what;
} taskrt__parser;

static bool taskrt__wrong(taskrt__parser *p, const char *what) {
  p->what = what;
  return false;
}

static void taskrt__space(taskrt__parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '\n')) p->at++;
}

/* taskrt__peek returns the next byte, or 0 at the end: 0 is right nowhere. */
static char taskrt__peek(const taskrt__parser *p) { return p->at < p->end ? *p->at : 0; }

static int taskrt__hex(const char *s) {
  int n = 0;
  for (int i = 0; i < 4; i++) {
    char c = s[i];
    int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (d < 0) return -1;
    n = n << 4 | d;
  }
  return n;
}

static bool taskrt__check_string(taskrt__parser *p) {
  for (p->at++; p->at < p->end; p->at++) {
    unsigned char c = (unsigned char)*p->at;
    if (c == '"') return p->at++, true;
    if (c < 0x20) return taskrt__wrong(p, "control character in a string");
    if (c != '\\') continue;
    p->at++;
    switch (taskrt__peek(p)) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': break;
    case 'u':
      if (p->end - p->at < 5 || taskrt__hex(p->at + 1) < 0) return taskrt__wrong(p, "bad \\u escape");
      p->at += 4;
      break;
    default: return taskrt__wrong(p, "bad escape");
    }
  }
  return taskrt__wrong(p, "unexpected end of a string");
}

static bool taskrt__check_digits(taskrt__parser *p) {
  const char *from = p->at;
  while (taskrt__peek(p) >= '0' && taskrt__peek(p) <= '9') p->at++;
  return p->at > from || taskrt__wrong(p, "a digit is missing");
}

static bool taskrt__check_number(taskrt__parser *p) {
  if (taskrt__peek(p) == '-') p->at++;
  if (taskrt__peek(p) == '0') p->at++;
  else if (!taskrt__check_digits(p)) return false;
  if (taskrt__peek(p) == '.') {
    p->at++;
    if (!taskrt__check_digits(p)) return false;
  }
  if (taskrt__peek(p) == 'e' || taskrt__peek(p) == 'E') {
    p->at++;
    if (taskrt__peek(p) == '+' || taskrt__peek(p) == '-') p->at++;
    return taskrt__check_digits(p);
  }
  return true;
}

static bool taskrt__check_word(taskrt__parser *p, const char *word) {
  size_t n = __builtin_strlen(word);
  if ((size_t)(p->end - p->at) < n || __builtin_memcmp(p->at, word, n) != 0) return taskrt__wrong(p, "unexpected character");
  p->at += n;
  return true;
}

static bool taskrt__check_scalar(taskrt__parser *p) {
  switch (taskrt__peek(p)) {
  case '"': return taskrt__check_string(p);
  case 't': return taskrt__check_word(p, "true");
  case 'f': return taskrt__check_word(p, "false");
  case 'n': return taskrt__check_word(p, "null");
  }
  if (taskrt__peek(p) == '-' || (taskrt__peek(p) >= '0' && taskrt__peek(p) <= '9')) return taskrt__check_number(p);
  return taskrt__wrong(p, p->at == p->end ? "unexpected end" : "unexpected character");
}

static bool taskrt__check_name(taskrt__parser *p) {
  taskrt__space(p);
  if (taskrt__peek(p) != '"') return taskrt__wrong(p, "a member's name is missing");
  if (!taskrt__check_string(p)) return false;
  taskrt__space(p);
  if (taskrt__peek(p) != ':') return taskrt__wrong(p, "':' is missing");
  p->at++;
  return true;
}

/* taskrt__check goes over one value, with what is open in an array instead of by recursion. */
static bool taskrt__check(taskrt__parser *p) {
  char open[TASKRT_JSON_DEPTH]; /* the brackets that close */
  int depth = 0;
  for (;;) {
    taskrt__space(p);
    char c = taskrt__peek(p);
    if (c == '{' || c == '[') {
      if (depth == TASKRT_JSON_DEPTH) return taskrt__wrong(p, "nested too deep");
      open[depth++] = c == '{' ? '}' : ']';
      p->at++;
      taskrt__space(p);
      if (taskrt__peek(p) != open[depth - 1]) {
        if (c == '{' && !taskrt__check_name(p)) return false;
        continue;
      }
    } else if (!taskrt__check_scalar(p)) {
      return false;
    }
    for (;;) { /* behind a value, or before the bracket that closes an empty one */
      if (depth == 0) return true;
      taskrt__space(p);
      c = taskrt__peek(p);
      if (c == ',' && p->at[-1] != (open[depth - 1] == '}' ? '{' : '[')) break;
      if (c != open[depth - 1]) return taskrt__wrong(p, "',' or a closing bracket is missing");
      p->at++;
      depth--;
    }
    p->at++;
    if (open[depth - 1] == '}' && !taskrt__check_name(p)) return false;
  }
}

bool taskrt_json_parse(const void *text, size_t n, taskrt_json *value, taskrt_json_error *error) {
  taskrt__parser p = {text, (const char *)text + n, NULL};
  taskrt__space(&p);
  const char *from = p.at;
  bool ok = taskrt__check(&p);
  *value = ok ? (taskrt_json){from, (size_t)(p.at - from)} : (taskrt_json){0};
  taskrt__space(&p);
  if (ok && p.at < p.end) ok = taskrt__wrong(&p, "text after the value");
  if (!ok) *value = (taskrt_json){0};
  if (error != NULL) *error = (taskrt_json_error){(size_t)(p.at - (const char *)text), p.what};
  return ok;
}

bool taskrt_params_json(taskrt_arena *arena, taskrt_json *params, taskrt_outcome *bad_params) {
  taskrt_str text;
  taskrt_json_error error;
  *params = (taskrt_json){0};
  if (!taskrt_params(arena, &text)) {
    *bad_params = taskrt_fail("bad_params", "params do not fit into the memory for them");
    return false;
  }
  if (!taskrt_json_parse(text.text, text.length, params, &error)) {
    *bad_params = taskrt_fail("bad_params", "JSON: %s at byte %zu", error.what, error.at);
    return false;
  }
  return true;
}

taskrt_json_kind taskrt_json_kind_of(taskrt_json v) {
  if (v.length == 0) return TASKRT_JSON_ABSENT;
  switch (v.text[0]) {
  case 'n': return TASKRT_JSON_NULL;
  case 't': case 'f': return TASKRT_JSON_BOOL;
  case '"': return TASKRT_JSON_STRING;
  case '[': return TASKRT_JSON_ARRAY;
  case '{': return TASKRT_JSON_OBJECT;
  }
  return TASKRT_JSON_NUMBER;
}

bool taskrt_json_bool(taskrt_json v, bool *b) {
  if (taskrt_json_kind_of(v) != TASKRT_JSON_BOOL) return false;
  *b = v.text[0] == 't';
  return true;
}

/* taskrt__skip returns the end of a checked value. */
static const char *taskrt__skip(const char *p, const char *end) {
  int depth = 0;
  for (; p < end; p++) {
    switch (*p) {
    case '"':
      for (p++; p < end && *p != '"'; p++) p += *p == '\\';
      break;
    case '[': case '{': depth++; break;
    case ']': case '}':
      if (depth-- == 0) return p; /* of what the value is in */
      break;
    case ',':
      if (depth == 0) return p;
      break;
    case ' ': case '\t': case '\r': case '\n': case ':':
      if (depth == 0) return p;
      break;
    }
  }
  return p;
}

taskrt_json_iter taskrt_json_all(taskrt_json v) {
  taskrt_json_kind kind = taskrt_json_kind_of(v);
  if (kind != TASKRT_JSON_OBJECT && kind != TASKRT_JSON_ARRAY) return (taskrt_json_iter){0};
  return (taskrt_json_iter){v.text + 1, v.text + v.length - 1, kind == TASKRT_JSON_OBJECT};
}

static taskrt_json taskrt__take(taskrt__parser *p) {
  const char *from = p->at;
  p->at = taskrt__skip(p->at, p->end);
  return (taskrt_json){from, (size_t)(p->at - from)};
}

bool taskrt_json_next(taskrt_json_iter *i, taskrt_json *name, taskrt_json *value) {
  taskrt__parser p = {i->at, i->end, NULL};
  *name = *value = (taskrt_json){0};
  taskrt__space(&p);
  if (taskrt__peek(&p) == ',') p.at++;
  taskrt__space(&p);
  if (p.at == p.end) return false;
  if (i->named) {
    *name = taskrt__take(&p);
    taskrt__space(&p);
    p.at++; /* the colon */
    taskrt__space(&p);
  }
  *value = taskrt__take(&p);
  i->at = p.at;
  return true;
}

taskrt_json taskrt_json_get(taskrt_json object, const char *name) {
  taskrt_json found = {0};
  taskrt_json_iter i = taskrt_json_all(object);
  for (taskrt_json n, v; i.named && taskrt_json_next(&i, &n, &v);) {
    if (taskrt_json_is(n, name)) found = v;
  }
  return found;
}

static bool taskrt__surrogate(int c) { return c >= 0xd800 && c < 0xe000; }

/* taskrt__character decodes one character of the inside of a checked string. */
static uint32_t taskrt__character(const char **at, const char *end) {
  const char *p = *at;
  size_t n;
  if (*p != '\\') {
    uint32_t c = taskrt_utf8_decode(p, (size_t)(end - p), &n);
    *at = p + n;
    return c;
  }
  *at = p + 2;
  switch (p[1]) {
  case 'b': return '\b';
  case 'f': return '\f';
  case 'n': return '\n';
  case 'r': return '\r';
  case 't': return '\t';
  case 'u': break;
  default: return (unsigned char)p[1];
  }
  *at = p + 6;
  int c = taskrt__hex(p + 2);
  if (!taskrt__surrogate(c)) return (uint32_t)c;
  if (c < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    int low = taskrt__hex(p + 8);
    if (low >= 0xdc00 && low < 0xe000) {
      *at = p + 12;
      return 0x10000 + ((uint32_t)(c - 0xd800) << 10 | (uint32_t)(low - 0xdc00));
    }
  }
  return 0xfffd; /* alone: the second one, if any, is read on its own */
}

bool taskrt_json_string(taskrt_json v, taskrt_arena *arena, taskrt_str *s) {
  if (taskrt_json_kind_of(v) != TASKRT_JSON_STRING) return false;
  const char *from = v.text + 1, *end = v.text + v.length - 1;
  char c[4];
  size_t n = 0;
  for (const char *p = from; p < end;) n += taskrt_utf8_encode(taskrt__character(&p, end), c);
  char *to = taskrt_alloc(arena, n + 1);
  if (to == NULL) return false;
  *s = (taskrt_str){to, n};
  for (const char *p = from; p < end;) to += taskrt_utf8_encode(taskrt__character(&p, end), to);
  *to = 0;
  return true;
}

bool taskrt_json_is(taskrt_json v, const char *text) {
  if (taskrt_json_kind_of(v) != TASKRT_JSON_STRING) return false;
  const char *end = v.text + v.length - 1;
  for (const char *p = v.text + 1; p < end;) {
    char c[4];
    size_t n = taskrt_utf8_encode(taskrt__character(&p, end), c);
    for (size_t i = 0; i < n; i++, text++) {
      if (*text == 0 || *text != c[i]) return false;
    }
  }
  return *text == 0;
}

bool taskrt_json_blob(taskrt_json v, taskrt_arena *arena, taskrt_str *name) {
  taskrt_json_iter i = taskrt_json_all(v);
  taskrt_json key, value, more;
  return i.named && taskrt_json_next(&i, &key, &value) && !taskrt_json_next(&i, &more, &more) && taskrt_json_is(key, "$blob") &&
         taskrt_json_string(value, arena, name);
}

/* ---- Writing ---- */

taskrt_writer taskrt_writer_of(void *buffer, size_t capacity) { return (taskrt_writer){.buffer = buffer, .capacity = capacity, .channel = -1}; }

taskrt_writer taskrt_result_writer(void *buffer, size_t capacity) {
  return (taskrt_writer){.buffer = buffer, .capacity = capacity, .channel = TASKRT_CH_RESULT};
}

static void taskrt__flush(taskrt_writer *w, const void *bytes, size_t n) {
  if (w->status != 0) return;
  int32_t status = taskrt_abi_write(w->channel, bytes, (uint32_t)n);
  if (status < 0) w->status = status;
}

taskrt_outcome taskrt_finish(taskrt_writer *w) {
  taskrt__flush(w, w->buffer, w->length);
  w->length = 0;
  if (w->status == 0) return TASKRT_OK;
  return taskrt_fail(w->status == TASKRT_E2BIG ? "too_big" : "bad_result", "the result was refused: %s", taskrt_status_text(w->status));
}

void taskrt_put(taskrt_writer *w, const void *bytes, size_t n) {
  if (w->status != 0 || n == 0) return;
  size_t left = w->capacity - w->length;
  if (n > left && w->channel >= 0) {
    taskrt__flush(w, w->buffer, w->length);
    w->length = 0;
    if (n >= w->capacity) {
      taskrt__flush(w, bytes, n);
      return;
    }
  } else if (n > left) {
    w->status = TASKRT_E2BIG;
    n = left;
  }
  __builtin_memcpy(w->buffer + w->length, bytes, n);
  w->length += n;
}

static void taskrt__put_unsigned(taskrt_writer *w, uint64_t n, unsigned base, bool negative) {
  char digits[21];
  size_t i = sizeof digits;
  do digits[--i] = "0123456789abcdef"[n % base];
  while ((n /= base) > 0);
  if (negative) digits[--i] = '-';
  taskrt_put(w, digits + i, sizeof digits - i);
}

static void taskrt__put_signed(taskrt_writer *w, int64_t n) { taskrt__put_unsigned(w, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10, n < 0); }

/* taskrt__put_digits writes digits × 10^(ten - count + 1), the first of which has the power ten, as JSON. */
static void taskrt__put_digits(taskrt_writer *w, uint64_t digits, int count, int ten) {
  char text[32];
  for (; count > 1 && digits % 10 == 0; count--) digits /= 10;
  for (int i = count; i > 0; i--, digits /= 10) text[i - 1] = (char)('0' + digits % 10);
  if (ten < -6 || ten >= 21) {
    taskrt_put(w, text, 1);
    if (count > 1) taskrt_put(w, ".", 1);
    taskrt_put(w, text + 1, (size_t)count - 1);
    taskrt_put(w, "e", 1);
    if (ten > 0) taskrt_put(w, "+", 1);
    taskrt__put_signed(w, ten);
    return;
  }
  if (ten < 0) taskrt_put(w, "0.000000", (size_t)(1 - ten));
  for (int i = 0; i < count || i <= ten; i++) {
    if (i == ten + 1 && ten >= 0) taskrt_put(w, ".", 1);
    taskrt_put(w, i < count ? text + i : "0", 1);
  }
}

static void taskrt__put_double(taskrt_writer *w, double d) {
  uint64_t bits;
  __builtin_memcpy(&bits, &d, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t m = bits & (((uint64_t)1 << 52) - 1);
  if (bits >> 63 != 0) taskrt_put(w, "-", 1);
  if (exponent == 0 && m == 0) {
    taskrt_put(w, "0", 1);
    return;
  }
  m |= exponent > 0 ? (uint64_t)1 << 52 : 0;
  int e = exponent > 0 ? exponent - 1075 : -1074;
  int ten = (int)((int64_t)(e + 63 - __builtin_clzll(m)) * 30103 / 100000); /* log10(2); off by one at most */
  for (int count = 15;; count++) { /* 15 digits are what every double keeps, 17 what tells each from the next */
    uint64_t digits = taskrt__digits(m, e, count, &ten);
    char text[32];
    taskrt_writer t = taskrt_writer_of(text, sizeof text);
    taskrt__put_unsigned(&t, digits, 10, false);
    taskrt_putf(&t, "e%d", ten - count + 1);
    double back = 0;
    if (count == 17 || (taskrt_json_double((taskrt_json){text, t.length}, &back) && back == (d < 0 ? -d : d))) {
      taskrt__put_digits(w, digits, count, ten);
      return;
    }
  }
}

static int64_t taskrt__signed_argument(int size, va_list *args) {
  switch (size) {
  case 'L': return va_arg(*args, long long);
  case 'l': return va_arg(*args, long);
  case 'z': return va_arg(*args, ptrdiff_t);
  }
  return va_arg(*args, int);
}

static uint64_t taskrt__unsigned_argument(int size, va_list *args) {
  switch (size) {
  case 'L': return va_arg(*args, unsigned long long);
  case 'l': return va_arg(*args, unsigned long);
  case 'z': return va_arg(*args, size_t);
  }
  return va_arg(*args, unsigned);
}

static void taskrt__put_argument(taskrt_writer *w, char conversion, int size, va_list *args) {
  char c;
  switch (conversion) {
  case 'd': taskrt__put_signed(w, taskrt__signed_argument(size, args)); return;
  case 'u': taskrt__put_unsigned(w, taskrt__unsigned_argument(size, args), 10, false); return;
  case 'x': taskrt__put_unsigned(w, taskrt__unsigned_argument(size, args), 16, false); return;
  case 'g': taskrt__put_double(w, va_arg(*args, double)); return;
  case 'c': c = (char)va_arg(*args, int); break;
  case '%': c = '%'; break;
  default: taskrt_panic("taskrt: %%%c is no format", conversion);
  }
  taskrt_put(w, &c, 1);
}

static void taskrt__put_text(taskrt_writer *w, const char *s, int precision) {
  if (s == NULL) s = "(null)";
  size_t n = 0;
  while (precision < 0 ? s[n] != 0 : n < (size_t)precision && s[n] != 0) n++;
  taskrt_put(w, s, n);
}

void taskrt_vputf(taskrt_writer *w, const char *format, va_list given) {
  va_list args;
  va_copy(args, given);
  while (*format != 0) {
    const char *p = format;
    while (*p != 0 && *p != '%') p++;
    taskrt_put(w, format, (size_t)(p - format));
    if (*p == 0) break;
    int precision = -1, size = 0;
    if (p[1] == '.' && p[2] == '*') precision = va_arg(args, int), p += 2;
    for (p++; *p == 'l' || *p == 'z'; p++) size = size == 'l' ? 'L' : *p;
    if (*p == 's') taskrt__put_text(w, va_arg(args, const char *), precision);
    else taskrt__put_argument(w, *p, size, &args);
    format = p + 1;
  }
  va_end(args);
}

void taskrt_putf(taskrt_writer *w, const char *format, ...) {
  va_list args;
  va_start(args, format);
  taskrt_vputf(w, format, args);
  va_end(args);
}

taskrt_str taskrt_format(taskrt_arena *arena, const char *format, ...) {
  for (size_t n = 128;; n *= 2) {
    char *text = taskrt_alloc(arena, n + 1);
    if (text == NULL) return (taskrt_str){0};
    taskrt_writer w = taskrt_writer_of(text, n);
    va_list args;
    va_start(args, format);
    taskrt_vputf(&w, format, args);
    va_end(args);
    taskrt_release(arena, w.status == 0 ? text + w.length + 1 : text);
    if (w.status != 0) continue;
    text[w.length] = 0;
    return (taskrt_str){text, w.length};
  }
}

/* taskrt__value goes before a value or a name. */
static void taskrt__value(taskrt_writer *w) {
  if (w->comma) taskrt_put(w, ",", 1);
  w->comma = true;
}

void taskrt_json_open(taskrt_writer *w, char bracket) {
  taskrt__value(w);
  taskrt_put(w, &bracket, 1);
  w->comma = false;
}

void taskrt_json_close(taskrt_writer *w, char bracket) {
  taskrt_put(w, &bracket, 1);
  w->comma = true;
}

void taskrt_json_put_str(taskrt_writer *w, taskrt_str s) {
  taskrt__value(w);
  taskrt_put(w, "\"", 1);
  for (size_t at = 0, n; at < s.length; at += n) {
    uint32_t c = taskrt_utf8_decode(s.text + at, s.length - at, &n);
    char escaped[6] = {'\\', 'u', '0', '0', "01"[c >> 4 & 1], "0123456789abcdef"[c & 15]};
    switch (c) {
    case '"': case '\\': escaped[1] = (char)c; taskrt_put(w, escaped, 2); continue;
    case '\n': taskrt_put(w, "\\n", 2); continue;
    case '\r': taskrt_put(w, "\\r", 2); continue;
    case '\t': taskrt_put(w, "\\t", 2); continue;
    }
    if (c < 0x20) taskrt_put(w, escaped, 6);
    else if (c == 0xfffd) taskrt_put(w, "\xef\xbf\xbd", 3);
    else taskrt_put(w, s.text + at, n);
  }
  taskrt_put(w, "\"", 1);
}

void taskrt_json_put_string(taskrt_writer *w, const char *s) { taskrt_json_put_str(w, (taskrt_str){s, __builtin_strlen(s)}); }

void taskrt_json_name_str(taskrt_writer *w, taskrt_str name) {
  taskrt_json_put_str(w, name);
  taskrt_put(w, ":", 1);
  w->comma = false;
}

void taskrt_json_name(taskrt_writer *w, const char *name) { taskrt_json_name_str(w, (taskrt_str){name, __builtin_strlen(name)}); }

void taskrt_json_put_int64(taskrt_writer *w, int64_t n) {
  taskrt__value(w);
  taskrt__put_signed(w, n);
}

void taskrt_json_put_uint64(taskrt_writer *w, uint64_t n) {
  taskrt__value(w);
  taskrt__put_unsigned(w, n, 10, false);
}

void taskrt_json_put_double(taskrt_writer *w, double d) {
  taskrt__value(w);
  if (d - d == 0) taskrt__put_double(w, d);
  else if (w->status == 0) w->status = TASKRT_EINVAL;
}

void taskrt_json_put_bool(taskrt_writer *w, bool b) { taskrt_json_put_json(w, b ? (taskrt_json){"true", 4} : (taskrt_json){"false", 5}); }
void taskrt_json_put_null(taskrt_writer *w) { taskrt_json_put_json(w, (taskrt_json){0}); }

void taskrt_json_put_json(taskrt_writer *w, taskrt_json v) {
  taskrt__value(w);
  if (v.length == 0) v = (taskrt_json){"null", 4};
  taskrt_put(w, v.text, v.length);
}

/* ---- Operations ---- */

bool taskrt_operation_task(taskrt_arena *arena, taskrt_operation *task, taskrt_outcome *bad_params) {
  taskrt_json params;
  *task = (taskrt_operation){0};
  if (!taskrt_params_json(arena, &params, bad_params)) return false;
  taskrt_json counts = taskrt_json_get(params, "counts");
  *task = (taskrt_operation){
      .operation = taskrt__member_str(params, "operation", arena),
      .target = taskrt__member_str(params, "target", arena),
      .object = taskrt__member_str(params, "object", arena),
      .arg = taskrt_json_get(params, "arg"),
      .partition = taskrt__member_str(params, "partition", arena),
      .token = (uint64_t)taskrt__member_int(params, "token"),
      .succeeded = taskrt__member_int(counts, "success"),
      .failed = taskrt__member_int(counts, "failure"),
  };
  taskrt_json_bool(taskrt_json_get(params, "success"), &task->success);
  if (task->operation.length > 0) return true;
  *bad_params = taskrt_fail("bad_params", "this behavior runs in an operation: \"operation\" is missing");
  return false;
}

taskrt_partitions taskrt_partitions_from(int64_t index) { return (taskrt_partitions){.next = index}; }

/* taskrt__next_page asks for partitions from all->next on. */
static int32_t taskrt__next_page(taskrt_partitions *all) {
  char request[64];
  taskrt_writer w = taskrt_writer_of(request, sizeof request);
  taskrt_putf(&w, "{\"from\":%lld,\"limit\":1000}", (long long)all->next);
  taskrt_str text;
  taskrt_json page;
  int64_t next = -1;
  all->arena.at = all->arena.begin;
  int32_t status = taskrt_call(&all->arena, TASKRT_OP_PARTITIONS, request, w.length, &text);
  if (status < 0) return status;
  if (!taskrt_json_parse(text.text, text.length, &page, NULL)) return TASKRT_EINVAL;
  taskrt_json_int64(taskrt_json_get(page, "next"), &next);
  if (next >= 0 && next <= all->next) return TASKRT_EINVAL; /* it would never end */
  all->next = next;
  all->iter = taskrt_json_all(taskrt_json_get(page, "partitions"));
  all->page = taskrt_mark(&all->arena);
  return 0;
}

static int taskrt__base64_digit(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : 63;
}

/* taskrt__base64 decodes what the host has encoded, in place. */
static taskrt_str taskrt__base64(taskrt_str s) {
  char *out = (char *)(uintptr_t)s.text; /* the arena's */
  uint32_t bits = 0;
  size_t length = 0;
  for (size_t i = 0; i < s.length && s.text[i] != '='; i++) {
    bits = bits << 6 | (uint32_t)taskrt__base64_digit(s.text[i]);
    if (i % 4 > 0) out[length++] = (char)(bits >> (6 - 2 * (i % 4)));
  }
  return (taskrt_str){out, length};
}

int32_t taskrt_next_partition(taskrt_partitions *all, taskrt_partition *p) {
  taskrt_arena *arena = &all->arena;
  taskrt_json none, v;
  *p = (taskrt_partition){0};
  while (!taskrt_json_next(&all->iter, &none, &v)) {
    if (all->next < 0) return 0;
    int32_t status = taskrt__next_page(all);
    if (status < 0) return status;
  }
  taskrt_release(arena, all->page);
  taskrt_json error = taskrt_json_get(v, "error");
  *p = (taskrt_partition){
      .index = taskrt__member_int(v, "index"),
      .name = taskrt__member_str(v, "partition", arena),
      .status = taskrt__member_str(v, "status", arena),
      .result = taskrt_json_get(v, "result"),
      .blob = taskrt__member_str(v, "blob", arena),
      .code = taskrt__member_str(error, "code", arena),
      .message = taskrt__member_str(error, "message", arena),
  };
  taskrt_json_bool(taskrt_json_get(error, "retryable"), &p->retryable);
  if (taskrt_json_string(taskrt_json_get(v, "result_base64"), arena, &p->bytes)) p->bytes = taskrt__base64(p->bytes);
  return 1;
}

#endif /* TASKRT_IMPLEMENTATION */

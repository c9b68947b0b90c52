/* Wordcount in C: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}, byte for byte as the example in Go says it. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

#include "letters.h"

/* A word that was found, in an AA tree: balanced whatever the words are, and in order. */
typedef struct node {
  struct node *left, *right;
  taskrt_str word; /* part of the text */
  int64_t count;
  int level; /* leaves have 1; that of a right child may be its parent's */
} node;

static int compare(taskrt_str a, taskrt_str b) {
  int order = __builtin_memcmp(a.text, b.text, a.length < b.length ? a.length : b.length);
  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* skew turns a left child of the same level into the parent, split the middle one of three. */
static node *skew(node *n) {
  node *left = n->left;
  if (left == NULL || left->level != n->level) return n;
  n->left = left->right;
  left->right = n;
  return left;
}

static node *split(node *n) {
  node *right = n->right;
  if (right == NULL || right->right == NULL || right->right->level != n->level) return n;
  n->right = right->left;
  right->left = n;
  right->level++;
  return right;
}

static node *count(node *n, taskrt_arena *arena, taskrt_str word) {
  if (n == NULL) {
    n = taskrt_alloc(arena, sizeof *n);
    *n = (node){.word = word, .count = 1, .level = 1};
    return n;
  }
  int order = compare(word, n->word);
  if (order == 0) {
    n->count++;
    return n;
  }
  if (order < 0) n->left = count(n->left, arena, word);
  else n->right = count(n->right, arena, word);
  return split(skew(n));
}

static void put(taskrt_writer *w, const node *n) {
  if (n == NULL) return;
  put(w, n->left);
  taskrt_json_name_str(w, n->word);
  taskrt_json_put_int64(w, n->count);
  put(w, n->right);
}

/* next_word takes the next word out of the text behind *at. */
static bool next_word(taskrt_str text, size_t *at, taskrt_str *word) {
  size_t begin = *at, n;
  bool in = false;
  for (; *at < text.length; *at += n) {
    bool letter = is_letter_or_digit(taskrt_utf8_decode(text.text + *at, text.length - *at, &n));
    if (in && !letter) break;
    if (!in && letter) in = true, begin = *at;
  }
  *word = (taskrt_str){text.text + begin, *at - begin};
  return in;
}

static taskrt_outcome wordcount(void) {
  taskrt_arena arena = {0};
  taskrt_json params;
  taskrt_outcome bad_params;
  taskrt_str text, word;
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  if (!taskrt_json_string(taskrt_json_get(params, "text"), &arena, &text)) {
    return taskrt_fail("bad_params", "params must be {\"text\":\"…\"}");
  }
  node *words = NULL;
  int64_t total = 0;
  for (size_t at = 0; next_word(text, &at, &word); total++) words = count(words, &arena, word);

  static char buffer[4096];
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '{');
  taskrt_json_name(&w, "words");
  taskrt_json_open(&w, '{');
  put(&w, words);
  taskrt_json_close(&w, '}');
  taskrt_json_name(&w, "total");
  taskrt_json_put_int64(&w, total);
  taskrt_json_close(&w, '}');
  return taskrt_finish(&w);
}

TASKRT_MANIFEST({"schema": 1, "behaviors": [{
  "name": "wordcount",
  "description": "counts words: {\"text\":\"a b a\"} → {\"words\":{\"a\":2,\"b\":1},\"total\":3}",
  "id": {"strategy": "params"},
  "run_timeout": "1m"
}]});

TASKRT_BEHAVIORS({"wordcount", wordcount});

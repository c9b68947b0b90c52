// The workloads of runtime/meter's benchmark in C, freestanding. Each export takes a number of rounds and returns a
// checksum that the same export of the Rust and of the Go module gives, too: the algorithms are the same.
#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

#define SEED UINT64_C(0x9e3779b97f4a7c15)
#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t xorshift(uint64_t x) {
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

static void fill(uint8_t *p, size_t n) {
  uint64_t x = SEED;
  for (size_t i = 0; i < n; i++) {
    x = xorshift(x);
    p[i] = (uint8_t)x;
  }
}

// sha256

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(uint32_t h[8], const uint8_t *p) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++, p += 4)
    w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
  for (int i = 16; i < 64; i++) {
    uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], z = h[7];
  for (int i = 0; i < 64; i++) {
    uint32_t t1 = z + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + sha_k[i] + w[i];
    uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    z = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += z;
}

static uint8_t sha_text[1024 + 64]; // the padding of 1 KiB is a block of its own

EXPORT("sha256") int64_t bench_sha256(int32_t rounds) {
  fill(sha_text, 1024);
  for (int i = 0; i < 64; i++)
    sha_text[1024 + i] = 0;
  sha_text[1024] = 0x80;
  sha_text[1024 + 62] = 0x20; // 8192 bits
  uint64_t sum = 0;
  for (int32_t r = 0; r < rounds; r++) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (size_t at = 0; at < sizeof sha_text; at += 64)
      sha_block(h, sha_text + at);
    for (int i = 0; i < 32; i++)
      sha_text[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
    sum = (uint64_t)h[0] << 32 | h[1];
  }
  return (int64_t)sum;
}

// crc32 (IEEE, by bytes)

static uint32_t crc_table[256];
static uint8_t crc_text[4096];

EXPORT("crc32") int64_t bench_crc32(int32_t rounds) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++)
      c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
    crc_table[i] = c;
  }
  fill(crc_text, sizeof crc_text);
  uint32_t crc = 0;
  for (int32_t r = 0; r < rounds; r++) {
    crc = ~UINT32_C(0);
    for (size_t i = 0; i < sizeof crc_text; i++)
      crc = crc_table[(uint8_t)crc ^ crc_text[i]] ^ crc >> 8;
    crc = ~crc;
    for (int i = 0; i < 4; i++)
      crc_text[i] = (uint8_t)(crc >> i * 8);
  }
  return crc;
}

// json: a tree is built, encoded, decoded and encoded again.

enum kind { NUL, BOOL, INT, STRING, ARRAY, OBJECT };

struct text {
  const uint8_t *p;
  uint32_t n;
};

struct value {
  enum kind kind;
  int64_t number; // or truth
  struct text text;
  struct text name;           // as a member of an object
  struct value *first, *last; // children
  struct value *next;
};

static uint64_t arena[8192];
static size_t arena_used; // in words

static void *take(size_t bytes) {
  size_t words = (bytes + 7) / 8;
  if (words > COUNT(arena) - arena_used)
    __builtin_trap();
  void *p = arena + arena_used;
  arena_used += words;
  return p;
}

static struct value *make(enum kind kind) {
  struct value *v = take(sizeof *v);
  *v = (struct value){.kind = kind};
  return v;
}

static struct value *make_int(int64_t n) {
  struct value *v = make(INT);
  v->number = n;
  return v;
}

static struct value *make_string(const char *s) {
  struct value *v = make(STRING);
  v->text.p = (const uint8_t *)s;
  while (s[v->text.n])
    v->text.n++;
  return v;
}

static struct value *append(struct value *parent, struct value *child) {
  if (parent->last)
    parent->last->next = child;
  else
    parent->first = child;
  return parent->last = child;
}

static void set(struct value *object, const char *name, struct value *member) {
  append(object, member)->name = make_string(name)->text;
}

static struct value *document(int32_t round) {
  struct value *doc = make(OBJECT);
  set(doc, "id", make_int(round));
  set(doc, "name", make_string("nightly \"import\"\n\tof C:\\data"));
  struct value *truth = make(BOOL);
  truth->number = round % 2 == 0;
  set(doc, "ok", truth);
  set(doc, "none", make(NUL));
  struct value *tags = make(ARRAY), *items = make(ARRAY);
  set(doc, "tags", tags);
  append(tags, make_string("alpha"));
  append(tags, make_string("beta"));
  append(tags, make_string("gamma"));
  set(doc, "items", items);
  for (int32_t i = 0; i < 8; i++) {
    struct value *item = append(items, make(OBJECT));
    set(item, "sku", make_string("A-100/7"));
    set(item, "quantity", make_int(i * 3));
    set(item, "price", make_int((int64_t)(round + i) * -199));
  }
  return doc;
}

struct out {
  uint8_t *p;
  uint32_t n, cap;
};

static void put(struct out *o, uint8_t c) {
  if (o->n == o->cap)
    __builtin_trap();
  o->p[o->n++] = c;
}

static void put_word(struct out *o, const char *s) {
  while (*s)
    put(o, (uint8_t)*s++);
}

static void put_int(struct out *o, int64_t n) {
  uint8_t digits[20];
  int count = 0;
  uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
  do {
    digits[count++] = (uint8_t)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (n < 0)
    put(o, '-');
  while (count)
    put(o, digits[--count]);
}

static void put_string(struct out *o, struct text s) {
  put(o, '"');
  for (uint32_t i = 0; i < s.n; i++) {
    uint8_t c = s.p[i];
    switch (c) {
    case '"':
    case '\\':
      put(o, '\\');
      put(o, c);
      break;
    case '\n':
      put_word(o, "\\n");
      break;
    case '\t':
      put_word(o, "\\t");
      break;
    default:
      put(o, c);
    }
  }
  put(o, '"');
}

static void encode(struct out *o, const struct value *v) {
  switch (v->kind) {
  case NUL:
    put_word(o, "null");
    break;
  case BOOL:
    put_word(o, v->number ? "true" : "false");
    break;
  case INT:
    put_int(o, v->number);
    break;
  case STRING:
    put_string(o, v->text);
    break;
  case ARRAY:
  case OBJECT:
    put(o, v->kind == ARRAY ? '[' : '{');
    for (const struct value *c = v->first; c; c = c->next) {
      if (c != v->first)
        put(o, ',');
      if (v->kind == OBJECT) {
        put_string(o, c->name);
        put(o, ':');
      }
      encode(o, c);
    }
    put(o, v->kind == ARRAY ? ']' : '}');
  }
}

struct in {
  const uint8_t *p;
  uint32_t n, at;
};

static uint8_t peek(struct in *in) {
  if (in->at == in->n)
    __builtin_trap();
  return in->p[in->at];
}

static uint8_t next(struct in *in) {
  uint8_t c = peek(in);
  in->at++;
  return c;
}

static void expect(struct in *in, const char *s) {
  for (; *s; s++)
    if (next(in) != (uint8_t)*s)
      __builtin_trap();
}

static struct text get_string(struct in *in) {
  expect(in, "\"");
  struct out o = {take(64), 0, 64};
  for (;;) {
    uint8_t c = next(in);
    if (c == '"')
      return (struct text){o.p, o.n};
    if (c == '\\') {
      c = next(in);
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    put(&o, c);
  }
}

static int64_t get_int(struct in *in) {
  int negative = peek(in) == '-';
  in->at += (uint32_t)negative;
  uint64_t n = 0;
  while (in->at < in->n && in->p[in->at] >= '0' && in->p[in->at] <= '9')
    n = n * 10 + (next(in) - '0');
  return (int64_t)(negative ? -n : n);
}

static struct value *decode(struct in *in) {
  struct value *v;
  uint8_t c = peek(in);
  switch (c) {
  case 'n':
    expect(in, "null");
    return make(NUL);
  case 't':
  case 'f':
    expect(in, c == 't' ? "true" : "false");
    v = make(BOOL);
    v->number = c == 't';
    return v;
  case '"':
    v = make(STRING);
    v->text = get_string(in);
    return v;
  case '[':
  case '{':
    in->at++;
    v = make(c == '[' ? ARRAY : OBJECT);
    while (peek(in) != c + 2) { // ']' and '}' are two behind
      if (v->first)
        expect(in, ",");
      struct text name = {0};
      if (c == '{') {
        name = get_string(in);
        expect(in, ":");
      }
      append(v, decode(in))->name = name;
    }
    in->at++;
    return v;
  }
  return make_int(get_int(in));
}

static uint8_t json_text[2][4096];

EXPORT("json") int64_t bench_json(int32_t rounds) {
  uint64_t sum = FNV_OFFSET;
  for (int32_t r = 0; r < rounds; r++) {
    arena_used = 0;
    struct out once = {json_text[0], 0, sizeof json_text[0]}, twice = {json_text[1], 0, sizeof json_text[1]};
    encode(&once, document(r));
    struct in in = {once.p, once.n, 0};
    encode(&twice, decode(&in));
    for (uint32_t i = 0; i < twice.n; i++)
      sum = (sum ^ twice.p[i]) * FNV_PRIME;
  }
  return (int64_t)sum;
}

// sort: quicksort with insertion sort of short runs

static void quicksort(uint32_t *a, int32_t lo, int32_t hi) { // both included
  while (hi - lo > 12) {
    uint32_t pivot = a[lo + (hi - lo) / 2];
    int32_t i = lo - 1, j = hi + 1;
    for (;;) {
      do
        i++;
      while (a[i] < pivot);
      do
        j--;
      while (a[j] > pivot);
      if (i >= j)
        break;
      uint32_t t = a[i];
      a[i] = a[j];
      a[j] = t;
    }
    quicksort(a, lo, j);
    lo = j + 1;
  }
  for (int32_t i = lo + 1; i <= hi; i++) {
    uint32_t x = a[i];
    int32_t j = i;
    for (; j > lo && a[j - 1] > x; j--)
      a[j] = a[j - 1];
    a[j] = x;
  }
}

static uint32_t numbers[2048];

EXPORT("sort") int64_t bench_sort(int32_t rounds) {
  uint64_t x = SEED, sum = FNV_OFFSET;
  for (int32_t r = 0; r < rounds; r++) {
    for (size_t i = 0; i < COUNT(numbers); i++) {
      x = xorshift(x);
      numbers[i] = (uint32_t)(x >> 32);
    }
    quicksort(numbers, 0, (int32_t)COUNT(numbers) - 1);
    for (size_t i = 0; i < COUNT(numbers); i++)
      sum = (sum ^ numbers[i]) * FNV_PRIME;
  }
  return (int64_t)sum;
}

// matrix: products of 32 x 32 floats

enum { DIM = 32 };
static double ma[DIM * DIM], mb[DIM * DIM], mc[DIM * DIM];

EXPORT("matrix") int64_t bench_matrix(int32_t rounds) {
  uint64_t x = SEED, sum = FNV_OFFSET;
  for (int i = 0; i < DIM * DIM; i++) {
    x = xorshift(x);
    ma[i] = (double)(x >> 40);
    mb[i] = (double)(x & 0xffff);
  }
  for (int32_t r = 0; r < rounds; r++) {
    mb[r % (DIM * DIM)] = (double)r;
    for (int i = 0; i < DIM; i++) {
      for (int j = 0; j < DIM; j++)
        mc[i * DIM + j] = 0;
      for (int k = 0; k < DIM; k++) {
        double f = ma[i * DIM + k];
        for (int j = 0; j < DIM; j++)
          mc[i * DIM + j] += f * mb[k * DIM + j];
      }
    }
    for (int i = 0; i < DIM * DIM; i++)
      sum = (sum ^ (uint64_t)mc[i]) * FNV_PRIME;
  }
  return (int64_t)sum;
}

// fib: recursion

static uint64_t fib(uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

EXPORT("fib") int64_t bench_fib(int32_t rounds) {
  uint64_t sum = 0;
  for (int32_t r = 0; r < rounds; r++)
    sum = sum * 31 + fib(16 + (uint32_t)r % 3);
  return (int64_t)sum;
}

// spin: a loop of a few instructions, each of which waits for the one before

EXPORT("spin") int64_t bench_spin(int32_t rounds) {
  uint64_t x = SEED;
  for (int64_t i = (int64_t)rounds * 1000; i > 0; i--)
    x = xorshift(x);
  return (int64_t)x;
}

// throws: exceptions as clang makes them: destructors while the stack is unwound, handlers that throw on, and one that nobody catches. The behaviors:
// the result is a line of what happened; the exception leaves taskrt_run; handlers in a loop without end.
#define IMPORT(name) __attribute__((import_module("taskrt_v1"), import_name(name)))
#define OWN __attribute__((noinline))

extern "C" {
IMPORT("write") int host_write(int channel, const void *from, int n);

// What libc++abi has, for exceptions that are caught by "catch (...)" only: one at a time.
struct {
	unsigned index;
	void *lsda;
	unsigned selector;
} __wasm_lpad_context;
void *_ZTIi; // typeinfo for int
static int thrown;
int _Unwind_CallPersonality(void *) { return 0; }
void *__cxa_allocate_exception(unsigned long) { return &thrown; }
OWN void __cxa_throw(void *e, void *, void (*)(void *)) { __builtin_wasm_throw(0, e); }
void *__cxa_begin_catch(void *e) { return e; }
void __cxa_end_catch() {}
OWN void __cxa_rethrow() { __builtin_wasm_throw(0, &thrown); }
void _ZSt9terminatev() { __builtin_trap(); }
}

static char line[64];
static int length;

static void say(char c) { line[length++] = c; }

struct guard {
	char name;
	explicit guard(char n) : name(n) { say(n); }
	~guard() { say(static_cast<char>(name - 'a' + 'A')); }
};

OWN static int deep(int n) {
	guard g(static_cast<char>('a' + n));
	if (n == 3)
		throw 7;
	int below = deep(n + 1);
	say('!'); // never
	return below;
}

OWN static int again(int n) {
	int kept = n;
	try {
		kept += 10; // must be seen by the handler
		return deep(n);
	} catch (...) {
		say(static_cast<char>('0' + thrown));
		say(static_cast<char>('a' + kept));
		throw;
	}
}

extern "C" __attribute__((export_name("taskrt_run"))) int run(int behavior) {
	if (behavior == 1)
		return again(1);
	do {
		length = 0;
		try {
			guard g('x');
			again(0);
		} catch (...) {
			say('.');
		}
	} while (behavior == 2);
	host_write(16, line, length);
	return 0;
}

/* Lua's points of customization (ldo.c, lua.c, loslib.c): wasm has no setjmp, WASI no terminal and no names for temporary files. */
#include <unistd.h>

struct lua_State;
_Noreturn void wasi_throw(struct lua_State *L);

#define LUAI_TRY(L, c, a) { a }
#define LUAI_THROW(L, c) wasi_throw(L)
#define luai_jmpbuf int
#define lua_stdin_is_tty() isatty(0)
#define LUA_TMPNAMBUFSIZE 1
#define lua_tmpnam(b, e) { (void)(b); e = 1; }

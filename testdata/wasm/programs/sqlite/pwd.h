/* what shell.c wants of it: the user's home, of which there is none */
struct passwd { char *pw_dir; };
static inline struct passwd *getpwuid(unsigned id) { (void)id; return 0; }
static inline unsigned getuid(void) { return 0; }

/* included by ldo.c, not used: see wasi.h */

// crash: a guest that traps, with the DWARF that says where: in a function that was put into another's code, beyond its memory, by a
// division, by recursion without end. The behaviors, in this order.
#define EXPORT(name) __attribute__((export_name(name)))
#define OWN __attribute__((noinline))
#define WITHIN static inline __attribute__((always_inline))

static volatile int numbers[4];

WITHIN int checked(int i) {
	if (i > 100)
		__builtin_trap();
	return numbers[i & 3];
}

WITHIN int pick(int i) {
	return checked(i) + 1;
}

OWN int sum(int n) {
	int total = 0;
	for (int i = 0; i < n; i++)
		total += pick(i);
	return total;
}

OWN int beyond(volatile int *at) {
	return at[0x7ffffff];
}

OWN int divide(int a, int b) {
	return a / b;
}

OWN int deeper(int n) {
	return deeper(n + 1) + numbers[n & 3];
}

EXPORT("taskrt_run") int run(int behavior) {
	switch (behavior) {
	case 0:
		return sum(200);
	case 1:
		return beyond(numbers);
	case 2:
		return divide(1, numbers[0]) + 1;
	}
	return deeper(0);
}

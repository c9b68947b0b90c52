package wasi

// errno is a status of WASI. The numbers are the specification's.
type errno uint16

const (
	success      errno = 0
	badf         errno = 8
	fault        errno = 21
	inval        errno = 28
	ioError      errno = 29
	nosys        errno = 52
	notDirectory errno = 54
	notSocket    errno = 57
	notSupported errno = 58
	spipe        errno = 70
	notCapable   errno = 76
)

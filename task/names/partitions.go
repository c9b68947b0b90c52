package names

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxPartitionNames bounds the names of an operation's partitions together, in bytes.
const MaxPartitionNames = 256 << 10

const maxPartitionName = 128 // bytes

// Partitions says what is wrong with the names of so many partitions, or "". Partitions need not have names.
func Partitions(names []string, partitions int64) string {
	if names == nil {
		return ""
	}
	if int64(len(names)) != partitions {
		return "not as many names as partitions"
	}
	seen, bytes := make(map[string]bool, len(names)), 0
	for i, name := range names {
		if name == "" || len(name) > maxPartitionName {
			return fmt.Sprintf("the name of a partition is 1 to 128 bytes: number %d", i)
		}
		if seen[name] {
			return "two partitions are called " + name
		}
		seen[name] = true
		bytes += len(name)
	}
	if bytes > MaxPartitionNames {
		return "the names of the partitions are longer than 256 KiB together"
	}
	return ""
}

// Partition returns the number at the end of the ID of a partition's task, or -1 if there is none.
func Partition(id string) int64 {
	i, err := strconv.ParseInt(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	if err != nil {
		return -1
	}
	return i
}

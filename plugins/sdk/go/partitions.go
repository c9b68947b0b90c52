package sdk

import (
	"iter"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// Partition is the outcome of one partition of an operation.
type Partition struct {
	Index  int64
	Name   string
	Status string          // of its task: SUCCESS or FAILURE, when a completion runs
	Result []byte          // of a success: JSON unless Binary; nil if it is a blob
	Binary bool            // Result is not JSON
	Blob   string          // name of the blob that is the result, for Context.Blob; "": the result is not a blob
	Error  *PartitionError // of a failure
}

// PartitionError is why a partition failed.
type PartitionError struct {
	Code      string
	Message   string
	Retryable bool
}

// pageSize is how many partitions one request asks for: the most that a host gives.
const pageSize = 1000

// Partitions goes through the partitions of the operation that the task is part of, in order, from index `from` on. So a
// completion reads outcomes and results without all of them in memory. An error is the last thing that Partitions yields:
// ErrDenied (the task is not part of an operation), ErrUnavailable (nobody answers now: end with a retryable error),
// ErrLeaseLost.
//
//	for p, err := range c.Partitions(0) {
//		if err != nil {
//			return err
//		}
//		…
//	}
func (c *Context) Partitions(from int64) iter.Seq2[Partition, error] {
	return func(yield func(Partition, error) bool) {
		for from >= 0 {
			page, next, err := c.partitions(from)
			if err != nil {
				yield(Partition{}, err)
				return
			}
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
			}
			from = next
		}
	}
}

// partitions asks for one page.
func (c *Context) partitions(from int64) (page []Partition, next int64, err error) {
	request := tinyjson.AppendInt(tinyjson.AppendMember([]byte{'{'}, "from"), from)
	request = append(tinyjson.AppendInt(tinyjson.AppendMember(request, "limit"), pageSize), '}')
	text, err := c.Call(abi.OpPartitions, request)
	if err != nil {
		return nil, 0, err
	}
	page, next, err = parsePage(text)
	if next >= 0 && next <= from {
		return nil, 0, ErrInvalid // else Partitions would never end
	}
	return page, next, err
}

func parsePage(text []byte) (page []Partition, next int64, err error) {
	members, err := tinyjson.Members(text)
	if err != nil {
		return nil, 0, err
	}
	next = -1
	var list []tinyjson.Member
	for _, m := range members {
		switch m.Name {
		case "next":
			v, _ := tinyjson.Parse(m.Raw)
			if n, ok := v.Int64(); ok {
				next = n
			}
		case "partitions":
			if list, err = tinyjson.Members(m.Raw); err != nil {
				return nil, 0, err
			}
		}
	}
	for _, m := range list {
		p, err := parsePartition(m.Raw)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, p)
	}
	return page, next, nil
}

// parsePartition reads one element of a page. The result stays as it is written, however deep it nests.
func parsePartition(text []byte) (p Partition, err error) {
	members, err := tinyjson.Members(text)
	if err != nil {
		return p, err
	}
	for _, m := range members {
		if m.Name == "result" {
			p.Result = m.Raw
			continue
		}
		v, err := tinyjson.Parse(m.Raw)
		if err != nil {
			return p, err
		}
		switch m.Name {
		case "index":
			p.Index, _ = v.Int64()
		case "partition":
			p.Name, _ = v.Str()
		case "status":
			p.Status, _ = v.Str()
		case "result_base64":
			s, _ := v.Str()
			p.Result, p.Binary = decodeBase64(s), true
		case "blob":
			p.Blob, _ = v.Str()
		case "error":
			p.Error = parsePartitionError(v)
		}
	}
	return p, nil
}

func parsePartitionError(v tinyjson.Value) *PartitionError {
	e := &PartitionError{}
	if m, ok := v.Get("code"); ok {
		e.Code, _ = m.Str()
	}
	if m, ok := v.Get("message"); ok {
		e.Message, _ = m.Str()
	}
	if m, ok := v.Get("retryable"); ok {
		e.Retryable, _ = m.Truth()
	}
	return e
}

// decodeBase64 decodes what the host has encoded; encoding/base64 would link package reflect.
func decodeBase64(s string) []byte {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var values [256]byte
	for i := range len(digits) {
		values[digits[i]] = byte(i)
	}
	out := make([]byte, 0, len(s)/4*3)
	bits, n := uint32(0), 0
	for i := 0; i < len(s) && s[i] != '='; i++ {
		bits, n = bits<<6|uint32(values[s[i]]), n+6
		if n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n))
		}
	}
	return out
}

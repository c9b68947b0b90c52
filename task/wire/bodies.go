package wire

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// Bodies are encoded commands without their origins. They stay the same when they are sent again, forwarded, and written into the log. They are
// encoded once, by the node that proposes them.
type Bodies struct {
	data []byte
	each []body
}

// body is where in data a command is.
type body struct{ kind, from, to uint32 }

// maxEnvelope is the length of the longest envelope without a caller: an array of five numbers, the first of which is less than 256. A
// caller takes some bytes more, which no limit counts.
const maxEnvelope = 1 + 2 + 4*9

// Pack encodes as many of the first commands as fit. fits is asked for every command, also the first: size is how many bytes it takes, and bytes is
// how many it takes together with the commands before it. An error is about the first command that no log entry can hold.
func Pack(cs []task.Command, fits func(size, bytes int) bool) (Bodies, error) {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := (*buf)[:0]
	each := make([]body, 0, len(cs))
	bytes := 0
	for i, c := range cs {
		kind, err := kindOf(c)
		if err != nil {
			return Bodies{}, fmt.Errorf("wire: command %d: %w", i, err)
		}
		after, err := appendBody(b, c)
		if err != nil {
			return Bodies{}, fmt.Errorf("wire: command %d: %w", i, err)
		}
		one := body{uint32(kind), uint32(len(b)), uint32(len(after))}
		if bytes += one.size(); !fits(one.size(), bytes) {
			break
		}
		b, each = after, append(each, one)
	}
	return Bodies{exact(buf, b), each}, nil
}

// size returns how many bytes a command takes in an entry at most. It may take a few less.
func (b body) size() int { return maxEnvelope + int(b.to-b.from) }

// Len returns how many commands there are.
func (b Bodies) Len() int { return len(b.each) }

// Size returns how many bytes a command takes in an entry. It takes a few less if the numbers of its origin are small.
func (b Bodies) Size(i int) int { return b.each[i].size() }

// Begin begins an entry of so many commands, which take so many bytes. Append must follow for each.
func Begin(h task.Header, commands, bytes int) []byte {
	const maxPreamble = 1 + 1 + 3*9
	return appendPreamble(make([]byte, 0, maxPreamble+bytes), h, commands)
}

func appendPreamble(b []byte, h task.Header, commands int) []byte {
	b = append(b, version)
	b = head.AppendInt(head.AppendInt(head.Append(b, head.Array, 3), int64(h.Now)), int64(h.LeaseNow))
	return head.AppendUint(b, uint64(commands))
}

// Append appends a command to an entry. The proposal says where it came from.
func (b Bodies) Append(entry []byte, i int, p *task.Proposal) []byte {
	one := b.each[i]
	return append(appendEnvelope(entry, uint64(one.kind), p.Origin, &p.Caller), b.data[one.from:one.to]...)
}

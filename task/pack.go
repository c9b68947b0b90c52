package task

import "encoding/binary"

// A packed record is a Task that does not run, in as few bytes as is simple:
//
//	length of the rest · ID · number of names, names · behavior · which fields follow · status and priority ·
//	rev - created rev · created at · the fields that are not zero
//
// Numbers are varints, instants are counted from created_at, names are numbers of the nameTable. It lives in memory only:
// how it looks is no contract, and what it says is hashed field by field (digest.go).

// Bits of the fields that follow, in the order in which they do.
const (
	hasParams = 1 << iota
	hasResult
	hasError
	hasProgress
	hasCheckpoint
	hasNotBefore
	hasDeadline
	hasAttempt // attempt, failures, lost count
	hasEnded
	hasStarted
	hasFinished
	hasHistory
	hasParent
	hasPartition
	hasLabels
	hasConcurrencyKey
	hasRole // role and bound
	hasVersion
)

// packs reports whether t is kept packed. What can be of a running task only a packed record does not know.
func packs(t *Task) bool {
	return t.Status != Running && t.Lease == nil && t.Resubmit == 0 && t.CancelCode == "" && t.Priority >= 0 && t.Priority < 16 && t.Status < 16
}

// packer writes one record.
type packer struct {
	b     []byte
	since int64 // instants count from it
}

func (p *packer) uint(x uint64)  { p.b = binary.AppendUvarint(p.b, x) }
func (p *packer) int(x int64)    { p.b = binary.AppendVarint(p.b, x) }
func (p *packer) instant(t Time) { p.int(int64(t) - p.since) }
func (p *packer) fixed(x uint64) { p.b = binary.LittleEndian.AppendUint64(p.b, x) }
func (p *packer) text(s string)  { p.uint(uint64(len(s))); p.b = append(p.b, s...) }
func (p *packer) payload(x Payload) {
	p.b = append(p.b, byte(x.Encoding)<<1|flag(x.Blobs != nil))
	p.uint(uint64(len(x.Data)))
	p.b = append(p.b, x.Data...)
	if x.Blobs == nil {
		return
	}
	p.text(x.Blobs.Content)
	p.int(x.Blobs.Size)
	p.uint(uint64(len(x.Blobs.Named)))
	for _, s := range x.Blobs.Named {
		p.text(s)
	}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// isZero reports whether a payload is the absent one.
func (p *Payload) isZero() bool { return p.Encoding == None && len(p.Data) == 0 && p.Blobs == nil }

// fieldsOf returns which fields of t are packed. It is part of the digest (hashTask).
func fieldsOf(t *Task) (has uint64) {
	set := func(bit uint64, yes bool) {
		if yes {
			has |= bit
		}
	}
	set(hasParams, !t.Params.isZero())
	set(hasResult, !t.Result.isZero())
	set(hasError, t.Error != nil)
	set(hasProgress, !t.Progress.isZero())
	set(hasCheckpoint, !t.Checkpoint.isZero())
	set(hasNotBefore, t.NotBefore != 0)
	set(hasDeadline, t.Deadline != 0)
	set(hasAttempt, t.Attempt != 0 || t.Failures != 0 || t.LostCount != 0)
	set(hasEnded, t.Ended != nil)
	set(hasStarted, t.StartedAt != 0)
	set(hasFinished, t.FinishedAt != 0)
	set(hasHistory, len(t.History) > 0)
	set(hasParent, t.Parent != "")
	set(hasPartition, t.Partition != "")
	set(hasLabels, len(t.Labels) > 0)
	set(hasConcurrencyKey, t.ConcurrencyKey != "")
	set(hasRole, t.Role != RoleNone || t.Bound != 0)
	set(hasVersion, t.Version != "")
	return has
}

// pack writes t, a task of b, into the arena.
func (s *store) pack(b *behaviorRow, t *Task) ref {
	p := packer{b: s.scratch[:0], since: int64(t.CreatedAt)}
	p.b = append(p.b, make([]byte, binary.MaxVarintLen32)...) // room for the length
	p.id(t.ID)
	s.packNames(&p, t)
	p.uint(uint64(b.number))
	bits := fieldsOf(t)
	p.uint(bits)
	p.b = append(p.b, byte(t.Status)<<4|byte(t.Priority))
	p.uint(t.Rev - t.CreatedRev)
	p.int(int64(t.CreatedAt))
	p.fields(t, bits)
	s.scratch = p.b
	length := len(p.b) - binary.MaxVarintLen32
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(length))
	whole := p.b[binary.MaxVarintLen32-n:]
	copy(whole, head[:n])
	at := s.write(whole)
	if cap(s.scratch) > chunkBytes {
		s.scratch = nil
	}
	return at
}

// packNames writes the names of t, in the order in which unpack meets them.
func (s *store) packNames(p *packer, t *Task) {
	count := 3 * len(t.History)
	if t.Version != "" {
		count++
	}
	if t.Error != nil {
		count++
	}
	p.uint(uint64(count))
	if t.Version != "" {
		p.uint(uint64(s.names.use(t.Version)))
	}
	if t.Error != nil {
		p.uint(uint64(s.names.use(t.Error.Code)))
	}
	for i := range t.History {
		a := &t.History[i]
		for _, name := range [...]string{a.Worker, a.Node, a.Outcome} {
			p.uint(uint64(s.names.use(name)))
		}
	}
}

func (p *packer) fields(t *Task, bits uint64) {
	for _, x := range [...]struct {
		bit     uint64
		payload *Payload
	}{
		{hasParams, &t.Params}, {hasResult, &t.Result}, {hasProgress, &t.Progress}, {hasCheckpoint, &t.Checkpoint},
	} {
		if bits&x.bit != 0 {
			p.payload(*x.payload)
		}
	}
	if e := t.Error; e != nil {
		p.b = append(p.b, flag(e.Retryable))
		p.text(e.Message)
		p.payload(e.Details)
	}
	for _, x := range [...]struct {
		bit uint64
		at  Time
	}{
		{hasNotBefore, t.NotBefore}, {hasDeadline, t.Deadline}, {hasStarted, t.StartedAt}, {hasFinished, t.FinishedAt},
	} {
		if bits&x.bit != 0 {
			p.instant(x.at)
		}
	}
	if bits&hasAttempt != 0 {
		p.int(t.Attempt)
		p.int(t.Failures)
		p.int(t.LostCount)
	}
	if t.Ended != nil {
		p.uint(t.Ended.Token)
		p.fixed(t.Ended.Finish)
		p.uint(t.Ended.Session)
	}
	if bits&hasHistory != 0 {
		p.history(t.History)
	}
	for _, x := range [...]struct {
		bit  uint64
		text string
	}{
		{hasParent, t.Parent}, {hasPartition, t.Partition}, {hasConcurrencyKey, t.ConcurrencyKey},
	} {
		if bits&x.bit != 0 {
			p.text(x.text)
		}
	}
	if bits&hasLabels != 0 {
		p.uint(uint64(len(t.Labels)))
		for i := range t.Labels {
			p.text(t.Labels[i].Name)
			p.text(t.Labels[i].Value)
		}
	}
	if bits&hasRole != 0 {
		p.b = append(p.b, byte(t.Role))
		p.uint(t.Bound)
	}
}

func (p *packer) history(as []Attempt) {
	p.uint(uint64(len(as)))
	for i := range as {
		a := &as[i]
		p.int(a.Number)
		p.uint(a.Token)
		p.instant(a.StartedAt)
		p.instant(a.FinishedAt)
		p.int(a.Fuel)
	}
}

// An ID that is a UUID in lower case takes 17 bytes: 0, and the 16 that it is. Any other follows its length.
const uuidLength = 36

// dashes are where a UUID has them.
func dash(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }

func (p *packer) id(id string) {
	at := len(p.b)
	if len(id) == uuidLength {
		p.b = append(p.b, 0)
		for i := 0; i < uuidLength; i += 2 {
			if dash(i) {
				if id[i] != '-' {
					break
				}
				i++
			}
			hi, lo := nibble(id[i]), nibble(id[i+1])
			if hi|lo > 15 {
				break
			}
			p.b = append(p.b, hi<<4|lo)
		}
		if len(p.b) == at+17 {
			return
		}
	}
	p.b = p.b[:at]
	p.text(id)
}

// nibble returns the value of a hexadecimal digit in lower case; more than 15 for what is none.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

const hexDigits = "0123456789abcdef"

// putUUID writes the text of a UUID.
func putUUID(text *[uuidLength]byte, uuid []byte) {
	i := 0
	for _, b := range uuid[:16] {
		if dash(i) {
			text[i] = '-'
			i++
		}
		text[i], text[i+1] = hexDigits[b>>4], hexDigits[b&15]
		i += 2
	}
}

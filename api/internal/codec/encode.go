package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// Encode returns v as JSON in the form that this API sends: <, > and & stay as they are.
func Encode(v any) []byte { return Append(nil, v) }

// Append appends v as Encode makes it. It writes the most frequent answers and requests by hand, byte for byte as encoding/json
// does. It leaves all others to encoding/json.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case *api.SubmitReply:
		return append(appendReply(append(b, '{'), v), '}')
	case *api.SubmitResult:
		return appendResult(b, v)
	case *MinimalReply:
		return append(appendMinimal(append(b, '{'), v), '}')
	case *MinimalResult:
		return appendMinimalResult(b, v)
	case TaskAnswer:
		return append(appendTask(append(b, `{"task":`...), v.Task), '}')
	case *api.Task:
		return appendTask(b, v)
	}
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a value of this package does not marshal: a bug of the Service
	}
	return append(b, bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})...)
}

func appendReply(b []byte, r *api.SubmitReply) []byte {
	b = appendTask(append(b, `"task":`...), r.Task)
	b = appendString(append(b, `,"outcome":`...), r.Outcome)
	if r.TimedOut {
		b = append(b, `,"timed_out":true`...)
	}
	return b
}

func appendResult(b []byte, r *api.SubmitResult) []byte {
	b = append(b, '{')
	if r.SubmitReply != nil {
		b = appendReply(b, r.SubmitReply)
	}
	return appendError(b, r.Error, r.SubmitReply != nil)
}

// appendError appends the member error, if there is one, and the end of the object.
func appendError(b []byte, e *api.Error, comma bool) []byte {
	if e != nil && comma {
		b = append(b, ',')
	}
	if e != nil {
		b = Append(append(b, `"error":`...), e)
	}
	return append(b, '}')
}

func appendMinimal(b []byte, r *MinimalReply) []byte {
	t := &r.Task
	b = appendString(append(b, `"task":{"namespace":`...), t.Namespace)
	b = appendString(append(b, `,"id":`...), t.ID)
	b = appendString(append(b, `,"behavior":`...), t.Behavior)
	b = appendString(append(b, `,"status":`...), t.Status)
	b = strconv.AppendBool(append(b, `,"final":`...), t.Final)
	b = strconv.AppendUint(append(b, `,"rev":`...), t.Rev, 10)
	b = append(appendTime(b, `,"created_at":`, &t.CreatedAt), '}')
	return appendString(append(b, `,"outcome":`...), r.Outcome)
}

func appendMinimalResult(b []byte, r *MinimalResult) []byte {
	b = append(b, '{')
	if r.MinimalReply != nil {
		b = appendMinimal(b, r.MinimalReply)
	}
	return appendError(b, r.Error, r.MinimalReply != nil)
}

// AppendRequest appends a submit that was checked, so its params are compact.
func AppendRequest(b []byte, r *api.SubmitRequest) []byte {
	b = append(b, '{')
	if r.Namespace != "" {
		b = append(appendString(append(b, `"namespace":`...), r.Namespace), ',')
	}
	b = appendString(append(b, `"behavior":`...), r.Behavior)
	b = appendText(b, `,"id":`, r.ID)
	if len(r.Params) > 0 {
		b = append(append(b, `,"params":`...), r.Params...)
	}
	if r.ParamsBase64 != nil {
		b = base64.StdEncoding.AppendEncode(append(b, `,"params_base64":"`...), r.ParamsBase64)
		b = append(b, '"')
	}
	b = appendText(b, `,"if_exists":`, r.IfExists)
	b = appendTime(b, `,"not_before":`, r.NotBefore)
	if r.Delay != nil {
		b = append(append(append(b, `,"delay":"`...), r.Delay.String()...), '"')
	}
	b = appendTime(b, `,"deadline":`, r.Deadline)
	if len(r.Labels) > 0 {
		b = appendLabels(append(b, `,"labels":`...), r.Labels)
	}
	if r.Priority != nil {
		b = strconv.AppendInt(append(b, `,"priority":`...), int64(*r.Priority), 10)
	}
	return append(b, '}')
}

// appendTask appends a task, or null. The fields have the names and the order of those in api.Task.
func appendTask(b []byte, t *api.Task) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	b = appendString(append(b, `{"namespace":`...), t.Namespace)
	b = appendString(append(b, `,"id":`...), t.ID)
	b = appendString(append(b, `,"behavior":`...), t.Behavior)
	b = appendText(b, `,"version":`, t.Version)
	b = appendString(append(b, `,"status":`...), t.Status)
	b = strconv.AppendBool(append(b, `,"final":`...), t.Final)
	b = appendRaw(b, `,"params":`, t.Params)
	b = appendBytes(b, `,"params_base64":`, t.ParamsBase64)
	b = appendRaw(b, `,"result":`, t.Result)
	b = appendBytes(b, `,"result_base64":`, t.ResultBase64)
	if t.Error != nil {
		b = Append(append(b, `,"error":`...), t.Error)
	}
	b = appendTime(b, `,"not_before":`, t.NotBefore)
	b = appendTime(b, `,"deadline":`, t.Deadline)
	b = strconv.AppendInt(append(b, `,"attempt":`...), t.Attempt, 10)
	b = strconv.AppendInt(append(b, `,"failures":`...), t.Failures, 10)
	b = strconv.AppendInt(append(b, `,"lost_count":`...), t.LostCount, 10)
	if t.Lease != nil {
		b = Append(append(b, `,"lease":`...), t.Lease)
	}
	b = appendRaw(b, `,"progress":`, t.Progress)
	b = appendRaw(b, `,"checkpoint":`, t.Checkpoint)
	b = appendBytes(b, `,"checkpoint_base64":`, t.CheckpointBase64)
	if t.Resubmit != nil {
		b = append(appendTime(b, `,"resubmit":{"not_before":`, &t.Resubmit.NotBefore), '}')
	}
	if t.CancelRequested {
		b = append(b, `,"cancel_requested":true`...)
	}
	b = strconv.AppendUint(append(b, `,"rev":`...), t.Rev, 10)
	b = appendTime(b, `,"created_at":`, &t.CreatedAt)
	b = appendTime(b, `,"started_at":`, t.StartedAt)
	b = appendTime(b, `,"finished_at":`, t.FinishedAt)
	b = appendHistory(append(b, `,"history":`...), t.History)
	b = appendText(b, `,"parent":`, t.Parent)
	b = appendText(b, `,"partition":`, t.Partition)
	b = appendLabels(append(b, `,"labels":`...), t.Labels)
	b = strconv.AppendInt(append(b, `,"priority":`...), int64(t.Priority), 10)
	return append(b, '}')
}

func appendHistory(b []byte, list []api.Attempt) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range list {
		a := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"attempt":`...), a.Attempt, 10)
		b = strconv.AppendUint(append(b, `,"token":`...), a.Token, 10)
		b = appendString(append(b, `,"worker":`...), a.Worker)
		b = appendText(b, `,"node":`, a.Node)
		b = appendTime(b, `,"started_at":`, &a.StartedAt)
		b = appendTime(b, `,"finished_at":`, a.FinishedAt)
		b = appendString(append(b, `,"outcome":`...), a.Outcome)
		if a.FuelUsed != 0 {
			b = strconv.AppendInt(append(b, `,"fuel_used":`...), a.FuelUsed, 10)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendLabels appends an object of texts, in the order of their names.
func appendLabels(b []byte, m map[string]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	if len(m) > 0 {
		for i, name := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendString(b, m[name])
		}
	}
	return append(b, '}')
}

// appendText appends a member unless it is empty. name is all that stands before the value.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendTime appends a member unless it is nil.
func appendTime(b []byte, name string, t *api.Time) []byte {
	if t == nil {
		return b
	}
	b = append(append(b, name...), '"')
	return append(t.UTC().AppendFormat(b, api.TimeLayout), '"')
}

// appendBytes appends a member unless it is empty.
func appendBytes(b []byte, name string, raw []byte) []byte {
	if len(raw) == 0 {
		return b
	}
	b = append(append(b, name...), '"')
	return append(base64.StdEncoding.AppendEncode(b, raw), '"')
}

// appendRaw appends a member unless it is empty, without insignificant white space, which guests may have written.
func appendRaw(b []byte, name string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return b
	}
	b = append(b, name...)
	if _, compact := scan.Valid(raw); compact {
		return append(b, raw...)
	}
	var buffer bytes.Buffer
	if err := json.Compact(&buffer, raw); err != nil {
		panic(err) // see Append
	}
	return append(b, buffer.Bytes()...)
}

// appendString appends a JSON string as encoding/json writes it without escaping HTML.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029': // these two once ended lines in JavaScript
			b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

package tasks

import sdk "github.com/taskrt/taskrt/plugins/sdk/go"

// maxTime is the last millisecond of the year 9999.
const maxTime sdk.Time = 253402300799999

// formatTime writes a time as RFC 3339 does; package time would make a guest 260 KB larger. The days are counted in years that begin
// in March, so that the leap day is the last one (howardhinnant.github.io/date_algorithms.html, civil_from_days).
func formatTime(t sdk.Time) []byte {
	const day, era = 24 * 60 * 60 * 1000, 146097  // milliseconds; days of 400 years
	days, ms := int64(t)/day+719468, int64(t)%day // since 0000-03-01
	d := days % era
	year := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*year + year/4 - year/100
	month := (5*d + 2) / 153 // 0: March
	d -= (153*month + 2) / 5
	year += days / era * 400
	if month += 3; month > 12 {
		month, year = month-12, year+1
	}
	buf := digits(nil, year, 4)
	buf = digits(append(buf, '-'), month, 2)
	buf = digits(append(buf, '-'), d+1, 2)
	buf = digits(append(buf, 'T'), ms/3600000, 2)
	buf = digits(append(buf, ':'), ms/60000%60, 2)
	buf = digits(append(buf, ':'), ms/1000%60, 2)
	return append(digits(append(buf, '.'), ms%1000, 3), 'Z')
}

// digits appends n with count digits.
func digits(to []byte, n int64, count int) []byte {
	for range count {
		to = append(to, '0')
	}
	for i := len(to) - 1; count > 0; i, count = i-1, count-1 {
		to[i] = byte('0' + n%10)
		n /= 10
	}
	return to
}

// encodeBase64 does what encoding/base64 does, which would link package reflect.
func encodeBase64(p []byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	to := make([]byte, 0, (len(p)+2)/3*4)
	for ; len(p) > 0; p = p[min(3, len(p)):] {
		var three [3]byte
		n := copy(three[:], p)
		bits := uint32(three[0])<<16 | uint32(three[1])<<8 | uint32(three[2])
		for i := range 4 {
			if i > n {
				to = append(to, '=')
			} else {
				to = append(to, alphabet[bits>>(18-6*i)&63])
			}
		}
	}
	return string(to)
}

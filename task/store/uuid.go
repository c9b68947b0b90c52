package store

// uuidLength is how long a UUID is as a text.
const uuidLength = 36

// uuidDigits are where each of its bytes has its two digits.
const uuidDigits = "\x00\x02\x04\x06\x09\x0b\x0e\x10\x13\x15\x18\x1a\x1c\x1e\x20\x22"

// parseUUID takes no branch for a digit, because a processor would guess half of these branches wrong.
func parseUUID(text *[uuidLength]byte) (uuid [16]byte, ok bool) {
	var all byte
	for i := range uuid {
		at := uuidDigits[i]
		hi, lo := digitValues[text[at]], digitValues[text[at+1]]
		all |= hi | lo
		uuid[i] = hi<<4 | lo
	}
	return uuid, all < 16 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
}

// digitValues are the values of hexadecimal digits in lower case; 255 for any other byte.
const (
	digitValues = noDigits + noDigits + noDigits +
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\xff\xff\xff\xff\xff\xff" + noDigits + noDigits +
		"\xff\x0a\x0b\x0c\x0d\x0e\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff" + noDigits +
		noDigits + noDigits + noDigits + noDigits + noDigits + noDigits + noDigits + noDigits
	noDigits = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
)

const hexDigits = "0123456789abcdef"

// putUUID writes the text of a UUID.
func putUUID(text *[uuidLength]byte, uuid []byte) {
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	for i, b := range uuid[:16] {
		at := uuidDigits[i]
		text[at], text[at+1] = hexDigits[b>>4], hexDigits[b&15]
	}
}

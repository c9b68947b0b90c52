package main

import (
	"bytes"
	"encoding/binary"
	"io"
)

// orientation finds how the camera was held: 1 to 8, as in the Exif standard (CIPA DC-008, tag 0x0112); 1 if the file does not say
// so in a way that is understood.
func orientation(file io.Reader) int {
	var marker [4]byte
	if _, err := io.ReadFull(file, marker[:2]); err != nil || marker[0] != 0xff || marker[1] != 0xd8 {
		return 1
	}
	for {
		if _, err := io.ReadFull(file, marker[:]); err != nil || marker[0] != 0xff {
			return 1
		}
		size := int64(binary.BigEndian.Uint16(marker[2:])) - 2
		switch {
		case size < 0 || marker[1] == 0xda: // the picture begins
			return 1
		case marker[1] != 0xe1:
			if _, err := io.CopyN(io.Discard, file, size); err != nil {
				return 1
			}
			continue
		}
		segment := make([]byte, size) // at most 64 KiB
		if _, err := io.ReadFull(file, segment); err != nil {
			return 1
		}
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok {
			return orientationIn(tiff)
		}
	}
}

func orientationIn(tiff []byte) int {
	const (
		header, entry = 8, 12
		tag, short    = 0x0112, 3
	)
	var order binary.ByteOrder = binary.BigEndian
	if len(tiff) < header {
		return 1
	}
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for n := order.Uint16(tiff[at:]); n > 0 && len(entries) >= entry; n-- {
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if v := order.Uint16(entries[8:]); v >= 1 && v <= 8 {
				return int(v)
			}
			return 1
		}
		entries = entries[entry:]
	}
	return 1
}

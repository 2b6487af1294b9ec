package format

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// UUID identifies the recording that a session describes: the same in all its epochs, and in what filters make of it. It is a UUID of
// version 8 (RFC 9562), made of the session's random id, its boot and its host.
func (s *Session) UUID() string {
	high, low := s.UUIDBits()
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low)
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// UUIDBits returns the two halves of the UUID.
func (s *Session) UUIDBits() (high, low uint64) {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, s.GetId())
	fmt.Fprintf(h, "%q %q", s.GetBootId(), s.GetHost())
	b := h.Sum(nil)[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}

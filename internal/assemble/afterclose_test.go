package assemble

import (
	"encoding/binary"
	"testing"

	"wprof/internal/ringdata"
)

// A span that ends while a list of those that are open is made has two records, in either order. Two spans may have begun at once, in other threads or
// on other CPUs; a thread may end its span on another CPU.
func TestSpanThatEndsWhileItIsListedIsThereOnce(t *testing.T) {
	span := func(number uint32, start int64, isListed bool) []byte {
		b := make([]byte, ringdata.TypedSize)
		binary.LittleEndian.PutUint64(b[ringdata.TypedStart:], uint64(start))
		binary.LittleEndian.PutUint32(b[ringdata.TypedType:], number)
		if isListed {
			b[ringdata.HdrFlags] = ringdata.FlagOpen | ringdata.FlagListed
		}
		return b
	}
	by := func(b []byte, cpu uint16, tid uint32) []byte {
		binary.LittleEndian.PutUint16(b[ringdata.HdrCPU:], cpu)
		binary.LittleEndian.PutUint32(b[ringdata.HdrTID:], tid)
		return b
	}
	a := new(applier)
	for i, c := range []struct {
		b    []byte
		want bool
	}{
		{span(7, 100, true), true}, {span(7, 100, false), false},
		{span(7, 200, false), true}, {span(7, 200, true), false},
		{span(9, 100, true), true}, {span(9, 100, true), true}, {span(8, 100, false), true},
		{by(span(7, 300, true), 0, 20), true}, {by(span(7, 300, false), 1, 30), true}, {by(span(7, 300, false), 1, 20), false}, {by(span(7, 300, true), 0, 30), false},
		{by(span(2, 300, true), 0, 0), true}, {by(span(2, 300, false), 1, 0), true}, {by(span(2, 300, false), 0, 0), false},
	} {
		if got := a.isFirst(c.b); got != c.want {
			t.Errorf("span %d: %v, want %v", i, got, c.want)
		}
	}
}

package assemble

import (
	"encoding/binary"
	"testing"

	"wprof/internal/ringdata"
)

// A span that ends while a list of those that are open is made has two records, in either order. Two spans of a list may have begun at once.
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
	a := new(applier)
	for i, c := range []struct {
		b    []byte
		want bool
	}{
		{span(7, 100, true), true}, {span(7, 100, false), false},
		{span(7, 200, false), true}, {span(7, 200, true), false},
		{span(9, 100, true), true}, {span(9, 100, true), true}, {span(8, 100, false), true},
	} {
		if got := a.isFirst(c.b); got != c.want {
			t.Errorf("span %d: %v, want %v", i, got, c.want)
		}
	}
}

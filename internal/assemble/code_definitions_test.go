package assemble

import (
	"testing"

	"wprof/format"
)

// A stack that ended where a table was not loaded, or where nothing led on, is whole if threads start in its outermost function.
func TestStackThatEndsBeforeItsTable(t *testing.T) {
	for _, ended := range format.AllStackEnds() {
		for function, isRoot := range map[string]bool{"_start": true, "runtime.goexit.abi0": true, "worker": false, "": false} {
			want := ended.End
			if isRoot && (want == format.StackEnd_STACK_END_NO_TABLE || want == format.StackEnd_STACK_END_NO_FRAME) {
				want = format.StackEnd_STACK_END_ROOT
			}
			c := &code{frames: []frame{{function: function}, {function: "_start"}}}
			p := &part{frames: []uint32{0, 1}, end: ended.End, cut: ended.End != format.StackEnd_STACK_END_ROOT}
			c.settleEnd(p)
			if p.end != want || p.cut != (want != format.StackEnd_STACK_END_ROOT) {
				t.Errorf("%v below %q: it ends with %v, cut %v", ended.End, function, p.end, p.cut)
			}
		}
	}
}

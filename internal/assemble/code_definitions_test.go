package assemble

import (
	"testing"

	"wprof/format"
)

// A stack that ended where a table was not loaded is whole if threads start in its outermost function.
func TestStackThatEndsBeforeItsTable(t *testing.T) {
	for function, want := range map[string]format.StackEnd{
		"_start":              format.StackEnd_STACK_END_ROOT,
		"runtime.goexit.abi0": format.StackEnd_STACK_END_ROOT,
		"worker":              format.StackEnd_STACK_END_NO_TABLE,
		"":                    format.StackEnd_STACK_END_NO_TABLE,
	} {
		c := &code{frames: []frame{{function: function}, {function: "_start"}}}
		p := &part{frames: []uint32{0, 1}, end: format.StackEnd_STACK_END_NO_TABLE, cut: true}
		c.settleEnd(p)
		if p.end != want || p.cut != (want != format.StackEnd_STACK_END_ROOT) {
			t.Errorf("below %q it ends with %v, cut %v", function, p.end, p.cut)
		}
	}
}

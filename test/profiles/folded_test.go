//go:build linux

package profiles

import (
	"strconv"
	"strings"
	"testing"

	"wprof/test/page"
	"wprof/test/tools"
)

// Other programs read folded stacks without knowing wprof: speedscope has the same stacks with the same weights.
func TestFoldedStacksAreReadByOthers(t *testing.T) {
	t.Parallel()
	capture, _ := recorded(t)
	for _, flags := range [][]string{{}, {"--by", "thread", "--unit", "ns", "--state", "-a"}, {"--off-cpu", "--reverse", "--unit", "samples"}} {
		folded := tools.Run(t, "wprof-flame", append(flags, capture)...)
		want := make(map[string]int64)
		for line := range strings.Lines(string(folded)) {
			stack, weight, _ := cutLast(strings.TrimSuffix(line, "\n"), " ")
			n, err := strconv.ParseInt(weight, 10, 64)
			if err != nil || n < 0 {
				t.Fatalf("%v: %q", flags, line)
			}
			if n > 0 {
				want[stack] += n
			}
		}
		s := new(saved)
		decode(t, page.Speedscope(t, "rooms.folded.txt", folded).SavedBySpeedscope(), s)
		got := make(map[string]int64)
		for _, p := range s.Profiles {
			s.each(p, func(n int64, stack []string) { got[strings.Join(stack, ";")] += n })
		}
		if len(s.Profiles) != 1 || len(want) < 10 {
			t.Errorf("%v: %d profiles of %d stacks", flags, len(s.Profiles), len(want))
		}
		for stack := range want {
			if got[stack] != want[stack] {
				t.Errorf("%v: speedscope has %d of %s, want %d", flags, got[stack], stack, want[stack])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v: speedscope has %d stacks, want %d", flags, len(got), len(want))
		}
	}
}

package assemble

import (
	"fmt"
	"testing"
)

// TestSummaryCountsStacksWithGeneratedCode by process, those in which some of it has no name and those that end in it, and names the
// files that the process has mapped.
func TestSummaryCountsStacksWithGeneratedCode(t *testing.T) {
	_, summary := finaliseWith(t, sampleText+`
side 3010 map pid=10 from=0x900000 to=0x910000 path=//anon
side 3011 map pid=20 from=0x900000 to=0x910000 path=//anon
side 3012 map pid=20 from=0xa00000 to=0xa10000 path=/usr/lib/libjvm.so dev=1 ino=8
side 3013 jit pid=20
0: 3100 stack cpu=0 tid=10 id=3 pid=10 at=0x900010,0x400456
0: 3100 sample cpu=0 tid=10 user=3
0: 3110 stack cpu=0 tid=10 id=4 pid=10 at=0x400456,0x900010
0: 3110 sample cpu=0 tid=10 user=4 kernel=2
0: 3120 stack cpu=0 tid=10 id=5 pid=20 at=0x900010,0x400456
0: 3120 sample cpu=0 tid=10 user=5
round 4000
end 4100
`, textOptions())
	const want = "[{PID:10 Name:alpha Files:[/bin/alpha /bin/plain] Stacks:2 Unnamed:2 Named:0 Cut:1} {PID:20 Name: Files:[/usr/lib/libjvm.so] Stacks:1 Unnamed:0 Named:1 Cut:0}]"
	if got := fmt.Sprintf("%+v", summary.Generated); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

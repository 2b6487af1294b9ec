package assemble

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/spool"
)

func TestEpochBeginsWhenDefinitionsAreMany(t *testing.T) {
	var text strings.Builder
	text.WriteString(`spool rings=1 recorder=9 cpus=1
task at=1000 tid=10 comm=alpha cpu=0 running=1 since=500
task at=1001 tid=11 comm=beta cpu=0 state=1 since=600
open 2000
0: 2100 waking cpu=0 waker=10 wakee=11
`)
	const renames = 300
	for i := range renames {
		fmt.Fprintf(&text, "0: %d rename cpu=0 tid=10 comm=name%d old=x\n", 3000+i, i)
	}
	text.WriteString("0: 4000 switch cpu=0 prev=10 next=11 state=1\nround 5000\nend 6000\n")
	s, err := spool.Open(spoolFile(t, text.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stream bytes.Buffer
	f := newFinaliser(s, format.NewWriter(&stream, format.WriterOptions{}), Options{})
	f.out.full = 2000
	summary, err := f.run()
	if err != nil {
		t.Fatal(err)
	}
	if summary.Sections < 3 || summary.Sections > renames/10 {
		t.Errorf("%d sections, want a few", summary.Sections)
	}
	if got := summary.Events[format.KindRename]; got != renames {
		t.Errorf("%d renames, want %d", got, renames)
	}
	out := streamText(t, stream.Bytes(), nil)
	// Whoever starts reading at the last epoch knows who waits, since when, and who woke it.
	last := out[strings.LastIndex(out, "\nsection"):]
	if !strings.Contains(last, "state_thread") || !strings.Contains(last, "woken=+0.000000100") {
		t.Errorf("the last epoch does not begin with the state:\n%s", last)
	}
	holdStates(t, "epochs", stream.Bytes())
}

// TestEpochsDoNotFollowEachOtherForLiveThreadsAlone: the state at the beginning of an epoch may define more than the
// limit by itself.
func TestEpochsDoNotFollowEachOtherForLiveThreadsAlone(t *testing.T) {
	var text strings.Builder
	text.WriteString("spool rings=1 recorder=9 cpus=1\n")
	for tid := range 50 {
		fmt.Fprintf(&text, "task at=1000 tid=%d comm=sleeper cpu=0 state=1 since=500\n", 100+tid)
	}
	text.WriteString("open 2000\n")
	for i := range 100 {
		fmt.Fprintf(&text, "0: %d waking cpu=0 waker=0 wakee=100\n", 3000+i)
	}
	text.WriteString("round 5000\nend 6000\n")
	s, err := spool.Open(spoolFile(t, text.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := newFinaliser(s, format.NewWriter(&counter{}, format.WriterOptions{}), Options{})
	f.out.full = 100
	if summary, err := f.run(); err != nil || summary.Sections > 3 {
		t.Errorf("%d sections, %v; want 3 at most", summary.Sections, err)
	}
}

// TestStatesStopWhenNothingHappens: a gap of hours, or a damaged time, is not filled with states.
func TestStatesStopWhenNothingHappens(t *testing.T) {
	text := finaliseText(t, `spool rings=1 recorder=9 cpus=1
task at=1000 tid=10 comm=alpha cpu=0 state=1 since=500
open 2000
0: 2100 waking cpu=0 waker=0 wakee=10
0: 30000000000000 waking cpu=0 waker=0 wakee=10
round 30000000000100
end 30000000000200
`)
	if n := strings.Count(text, "block events state"); n < 50 || n > 100 {
		t.Errorf("%d states in 30,000 s without an event, want those of ten minutes", n)
	}
}

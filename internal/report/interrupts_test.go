package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stormy is a capture of one busy thread on CPU 0. Soft interrupts take ns of each of 1,000 us, and on CPU 1, which is idle, a tenth of that. One in ten
// samples is in an interrupt.
func stormy(ns int) string {
	var text strings.Builder
	text.WriteString(`section host=box boot_id=b open=1000000 close=+1ms
cpu 0
cpu 1
source 1 name=timer period=1000
task 1 tid=0 pid=0 comm=swapper flags=idle
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
eventtype 1 name="softirq" shape=span on=cpu interrupts=soft
  field "vector" type=enum hint=name
    enum 3 name="NET_RX"
frame 1
  line function="work"
frame 2
  line function="net_rx_action"
stack 1 frames=1
stack 2 frames=1,2 kernel_frames=1
+0 cpu0 state_cpu 2
+0 cpu1 state_cpu 1
`)
	for us := range 1000 {
		at := 1000 * us
		stack := 1
		if us%10 == 0 {
			stack = 2
			fmt.Fprintf(&text, "+%d cpu0 sample 2 stack=%d source=1\n", at+15, stack)
		}
		fmt.Fprintf(&text, "+%d cpu0 typed 2 type=1 start=+%d .vector=3\n", at+10+ns, at+10)
		if us%10 != 0 {
			fmt.Fprintf(&text, "+%d cpu0 sample 2 stack=%d source=1\n", at+985, stack)
		} else {
			fmt.Fprintf(&text, "+%d cpu1 typed 1 type=1 start=+%d .vector=3\n", at+999, at+999-ns)
		}
	}
	return text.String() + "end close=+1ms\n"
}

// Interrupts are a class of their own, their samples are none of the thread, and many of them are findings about the process and the CPU.
func TestInterruptStorm(t *testing.T) {
	for ns, want := range map[int][]string{
		400: {
			"interrupts took 400 us of the 1.0 ms in which busy (pid 100) had a CPU, 40%: [softirq:NET_RX] 100%; it is not to blame for them",
			"CPU 0 was in interrupts for 40% of the window, 1000000 a second, on average for 0 us: [softirq:NET_RX] 100%",
		},
		250: {"interrupts took 250 us of the 1.0 ms in which busy (pid 100) had a CPU, 25%: [softirq:NET_RX] 100%; it is not to blame for them"},
		100: nil,
	} {
		r := reportOf(t, stormy(ns))
		var found []string
		for _, f := range r.Findings {
			if f.Kind == interruptStorm {
				found = append(found, f.Summary)
			}
		}
		slices.Sort(found)
		slices.Sort(want)
		if !slices.Equal(found, want) {
			t.Errorf("%d ns: got %q, want %q", ns, found, want)
		}
		if on, in := r.Sum(OnCPU).Ns, r.Sum(Interrupts); on != int64(1e6-1000*ns) || in.Ns != int64(1000*ns) || in.Count != 1000 {
			t.Errorf("%d ns: %d ns on the CPU, %+v", ns, on, in)
		}
		if len(r.Interrupts) != 1 || r.Interrupts[0] != (Part{"[softirq:NET_RX]", int64(1000 * ns), 1000}) {
			t.Errorf("%d ns: the interrupts are %+v", ns, r.Interrupts)
		}
		if r.Samples != 900 || len(r.Functions) != 1 || r.Functions[0].Name != "work" || r.Functions[0].SelfNs != r.Sum(OnCPU).Ns {
			t.Errorf("%d ns: %d samples, %+v", ns, r.Samples, r.Functions)
		}
	}
}

package perfetto

import (
	"strings"
	"testing"
)

// embedSQL are the slices of sampled stacks.
const embedSQL = `select slice.name as name, slice.ts - 15000000000 as ts, slice.dur as dur, depth from slice join track on track.id = track_id
	where track.name = 'stacks' order by ts, depth`

const functionsText = `
module 1 path="/usr/bin/spin" build_id=01abcd kind=1
module 2 path="[kernel]" kind=2 base=0xffffffff81000000
frame 1 module=1 offset=0x1100
  line function="main"
frame 2 module=1 offset=0x1200
  line function="inner"
  line function="_ZN3app4workEv"
frame 3 module=1 offset=0x1300
  line function="other"
frame 4 module=2 offset=0x300
  line function="do_syscall_64"
stack 1 frames=1,2
stack 2 frames=1,2,4 kernel_frames=1
stack 3 frames=1,3
stack 4 frames=1
`

func embedding() Options { return Options{Sched: true, EmbedStacks: true} }

// A function lasts from the first sample that contains it to the one that does not, or to the end of the time on the CPU.
// Where one goes on after one within it that began with it, it begins a nanosecond earlier, and what ended there makes
// room for it.
func TestEmbeddedStacksNestOverThreeSamples(t *testing.T) {
	trace := writtenWith(t, machine+functionsText+`
		+0 cpu0 state_cpu 2 prio=120
		+100000 cpu0 sample 2 stack=3 source=1
		+200000 cpu0 sample 2 stack=2 source=1
		+300000 cpu0 sample 2 stack=1 source=1
		+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, embedding())
	compare(t, "slices", query(t, trace, embedSQL)[2], "name ts dur depth", `
		main 99999 300001 0
		other 100000 99997 1
		app::work 199999 200001 1
		inner 199999 200001 2
		do_syscall_64 200000 100000 3
	`)
}

// Where a loss ends the time on the CPU, it ends the functions too, although the switch that shows it comes later.
func TestEmbeddedStackEndsWithALoss(t *testing.T) {
	trace := writtenWith(t, machine+functionsText+`
		+0 cpu0 state_cpu 2 prio=120
		+100000 cpu0 sample 2 stack=1 source=1
		+200000 lost from=+200000 count=3 cause=ring what=switch
		+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, Options{Sched: true, Threads: true, EmbedStacks: true})
	rows := query(t, trace, embedSQL, viewSQL)
	compare(t, "functions", rows[2], "name ts dur depth", `
		main 100000 100000 0
		app::work 100000 100000 1
		inner 100000 100000 2
	`)
	compare(t, "time on the CPU", named(rows[3], "on CPU 0"), "thread ts dur", "ping 0 200000\n")
}

// Without switches, only the end of its samples shows that a thread has left its CPU.
func TestEmbeddedStackEndsAPeriodAfterItsLastSample(t *testing.T) {
	text := strings.Replace(machine, "  cpu 0\n", "  source 1 name=timer period=1000\n  cpu 0\n", 1)
	trace := writtenWith(t, text+functionsText+`
		+100000 cpu0 sample 2 stack=4 source=1
		+101000 cpu0 sample 2 stack=4 source=1
		+200000 cpu0 sample 2 stack=4 source=1
		+200500 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, embedding())
	compare(t, "slices", query(t, trace, embedSQL)[2], "name ts dur depth", `
		main 100000 2000 0
		main 200000 500 0
	`)
}

package profile_test

import (
	"strconv"
	"strings"
	"testing"

	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/fromtext"
)

// interrupted is oneThread with interrupts: the first sample is taken in a soft interrupt, the second one in the thread, and the thread is woken by a
// disk. Timers take the samples.
var interrupted = strings.NewReplacer(
	"+0 cpu0 state_cpu", `text 1 text="disk;1"
eventtype 1 name="hardirq" shape=span on=cpu interrupts=hard
  field "handler" type=text hint=name
eventtype 2 name="softirq" shape=span on=cpu interrupts=soft
  field "vector" type=enum hint=name
    enum 3 name="NET_RX"
  field "own" type=bool hint=own
eventtype 3 name="local_timer" shape=span on=cpu interrupts=hard
+0 cpu0 state_cpu`,
	"+300000 cpu0 sample", `+101000 cpu0 typed 2 type=3 start=+99000
+150000 cpu0 typed 2 type=2 start=+90000 .vector=3
+200000 cpu0 typed 2 type=2 start=+160000 .vector=3 .own=1
+300000 cpu0 sample`,
	"+400000 cpu0 switch", `+310000 cpu0 typed 2 type=3 start=+290000
+400000 cpu0 switch`,
	"prio=120 target_cpu=0 stack=1", `interrupt prio=120 target_cpu=0 stack=1
+720000 cpu1 typed 4 type=1 start=+650000 .handler=1`,
).Replace(oneThread)

// The time of interrupts is taken out of that of the thread, to the nanosecond, and so are their samples, however time is divided among samples.
func TestInterruptsAreApart(t *testing.T) {
	const blocked = `
			app-100;main;do_syscall_64;vfs_read_[o] 300000
			app-100;main;do_syscall_64;vfs_read;[runnable]_[o] 50000
			waker-200;[hardirq:disk;1]_[c] 70000
			waker-200;[not sampled]_[c] 930000`
	for _, c := range []struct {
		name string
		o    profile.Options
		view graph.View
		want string
	}{
		{"nearest", profile.Options{}, graph.View{}, `
			app-100;[local_timer]_[c] 20000
			app-100;[not sampled]_[c] 250000
			app-100;[softirq:NET_RX];[local_timer]_[c] 2000
			app-100;[softirq:NET_RX]_[c] 58000
			app-100;main;a:b_[c] 320000` + blocked},
		{"spread", profile.Options{Spread: true}, graph.View{}, `
			app-100;[local_timer]_[c] 20000
			app-100;[softirq:NET_RX];[local_timer]_[c] 2000
			app-100;[softirq:NET_RX]_[c] 58000
			app-100;main;a:b_[c] 570000` + blocked},
		{"on-CPU by thread", profile.Options{Spread: true, Slot: 1000, MaxSlots: 2000, Threads: true}, graph.View{Mode: graph.OnCPU, By: graph.ByThread}, `
			main-100/100;[local_timer] 20000
			main-100/100;[softirq:NET_RX] 58000
			main-100/100;[softirq:NET_RX];[local_timer] 2000
			main-100/100;main;a:b 570000
			waker-200/200;[hardirq:disk;1] 70000
			waker-200/200;[not sampled] 930000`},
		{"a range", profile.Options{Spread: true, Slot: 1000, MaxSlots: 2000}, graph.View{Mode: graph.OnCPU, By: graph.ByComm, From: 95, To: 100}, `
			main;[softirq:NET_RX] 4000
			main;[softirq:NET_RX];[local_timer] 1000
			waker;[not sampled] 5000`},
		{"by CPU, reversed", profile.Options{CPUs: true}, graph.View{Mode: graph.OnCPU, By: graph.ByCPU, Reverse: true}, `
			CPU 0;[local_timer] 20000
			CPU 0;[local_timer];[softirq:NET_RX] 2000
			CPU 0;[not sampled] 250000
			CPU 0;[softirq:NET_RX] 58000
			CPU 0;a:b;main 320000
			CPU 1;[hardirq:disk;1] 70000
			CPU 1;[not sampled] 930000`},
		{"waker", profile.Options{Wakes: 1}, graph.View{Mode: graph.Waker, By: graph.ByComm}, `
			main;main;do_syscall_64;vfs_read;--;inner;app::work;main;[hardirq:disk;1] 300000
			main;main;do_syscall_64;vfs_read;[runnable];--;inner;app::work;main;[hardirq:disk;1] 50000`},
	} {
		c.want = strings.ReplaceAll(c.want, "disk;1", "disk:1")
		t.Run(c.name, func(t *testing.T) {
			compareLines(t, foldedText(t, interrupted, c.o, c.view), c.want)
		})
	}
	p := collected(t, fromtext.Stream(t, interrupted), profile.Options{})
	if p.About.Samples != 2 || p.About.Stray != 0 {
		t.Errorf("%d samples, %d stray", p.About.Samples, p.About.Stray)
	}
}

// A thread's trail has its interrupts where they were, and its own time between them has the stacks of its own samples.
func TestTrailHasInterrupts(t *testing.T) {
	for _, spread := range []bool{false, true} {
		p := collected(t, fromtext.Stream(t, interrupted), profile.Options{Trail: true, Spread: spread, Inline: true})
		var got strings.Builder
		for _, thread := range p.Threads {
			if thread.TID != 100 {
				continue
			}
			if err := thread.Trail.Each(func(piece *profile.Piece) error {
				if piece.Class.OnCPU() && piece.From < 400000 {
					cell := profile.Cell{CellKey: profile.CellKey{Class: piece.Class, Stack: piece.Stack, Label: piece.Label}, Ns: piece.To - piece.From}
					b := graph.NewBuilder(graph.View{By: graph.ByNone, Mode: graph.OnCPU}, p)
					b.AddCell(&cell)
					if err := folded.WriteGraph(&got, b.End(), folded.Text{Unit: folded.Nanoseconds}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		compareLines(t, got.String(), `
			main;a:b 90000
			[softirq:NET_RX] 9000
			[softirq:NET_RX];[local_timer] 2000
			[softirq:NET_RX] 49000
			main;a:b 140000
			[local_timer] 20000
			main;a:b 90000`)
	}
}

// More samples than are kept do not give the thread the time of interrupts that had not ended at one of them.
func TestInterruptsInLongRuns(t *testing.T) {
	var text strings.Builder
	head, _, _ := strings.Cut(interrupted, "+0 cpu0")
	text.WriteString(head + "+0 cpu0 state_cpu 2 prio=120\n+0 cpu1 state_cpu 4 prio=120\n")
	const many = 3000
	for n := range many { // a sample in the middle of a soft interrupt, and one after it
		at := 100 * (n + 1)
		write := func(at int, what string) { text.WriteString("+" + strconv.Itoa(at) + " cpu0 " + what + "\n") }
		write(at+20, "sample 2 stack=1 source=1")
		write(at+40, "typed 2 type=2 start=+"+strconv.Itoa(at)+" .vector=3")
		write(at+60, "sample 2 stack=5 source=1")
	}
	text.WriteString("end close=+1000000\n")
	for _, spread := range []bool{false, true} {
		compareLines(t, foldedText(t, text.String(), profile.Options{Spread: spread}, graph.View{Mode: graph.OnCPU, By: graph.ByComm}), `
			main;[softirq:NET_RX] 120000
			main;main;a:b 880000
			waker;[not sampled] 1000000`)
	}
}

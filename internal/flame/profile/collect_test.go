package profile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/timeline"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
)

// window begins a capture of 1 ms with two CPUs and a program of two threads; code is where they can be.
const window = `
section host=box boot_id=b kernel_release=6.18.0 open=10000000000 close=+1000000
  cpu 0
  cpu 1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
  source 1 name=timer period=10000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=main process_comm=app ppid=1 start=5
task 3 tid=101 pid=100 comm=pool process_comm=app ppid=1 start=6
task 4 tid=200 pid=200 comm=waker process_comm=waker ppid=1 start=7
module 1 path="/bin/app" build_id=01abcd kind=file
module 2 path="[kernel]" kind=kernel base=0xffffffff81000000
frame 1 module=1 offset=0x1100 caller
  line function="main"
frame 2 module=1 offset=0x1200
  line function="inner"
  line function="_ZN3app4workEv"
frame 3 module=2 offset=0x300 caller
  line function="do_syscall_64"
frame 4 module=2 offset=0x400 caller
  line function="__x64_sys_epoll_wait"
frame 5 module=2 offset=0x500 caller
  line function="ep_poll"
frame 6 module=2 offset=0x600 caller
  line function="schedule"
frame 7 module=2 offset=0x700
  line function="__schedule"
frame 8 module=2 offset=0x800 caller
  line function="vfs_read"
frame 9 module=1 offset=0x1110 caller
  line function="main"
frame 10 module=1 offset=0x1300
  line function="a;b"
stack 1 frames=1,2
stack 2 frames=1,3,4,5,6,7 kernel_frames=5
stack 3 frames=9,3,4,5 kernel_frames=3
stack 4 frames=1,3,8,6,7 kernel_frames=4
stack 5 frames=1,10
`

// collected is the profile of a stream, with all functions of the kernel.
func collected(t testing.TB, stream []byte, o profile.Options) *profile.Profile {
	o.KernelFrames = true
	return collectedWithin(t, stream, o, profile.UsualBounds())
}

func collectedWithin(t testing.TB, stream []byte, o profile.Options, b profile.Bounds) *profile.Profile {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := profile.CollectWithin(r, o, b)
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// foldedText is a stream as folded stacks in ns, with what is inlined.
func foldedText(t testing.TB, text string, o profile.Options, v graph.View) string {
	t.Helper()
	o.Inline, v.Inline = true, true
	return foldedAs(t, text, o, v)
}

func foldedAs(t testing.TB, text string, o profile.Options, v graph.View) string {
	t.Helper()
	var out strings.Builder
	g := graph.Of(collected(t, fromtext.Stream(t, text), o), v)
	if err := folded.WriteGraph(&out, g, folded.Text{Unit: folded.Nanoseconds}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func compareLines(t *testing.T, got, want string) {
	t.Helper()
	clean := func(s string) (lines []string) {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if g, w := clean(got), clean(want); !slices.Equal(g, w) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

// The thread of a program runs with two samples, is blocked, is woken and waits for a CPU, and runs without a sample.
const oneThread = window + `
+0 cpu0 state_cpu 2 prio=120 since=-50
+0 cpu1 state_cpu 4 prio=120
+100000 cpu0 sample 2 stack=1 source=1
+300000 cpu0 sample 2 stack=5 source=1
+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+700000 cpu1 waking 4 wakee=2 prio=120 target_cpu=0 stack=1
+750000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+400000 next_state=S stack=4
end close=+1000000
`

func TestTimesAddUpToTheNanosecond(t *testing.T) {
	for _, c := range []struct {
		view graph.View
		want string
	}{
		{graph.View{}, `
			app-100;[not sampled]_[c] 250000
			app-100;main;a:b_[c] 200000
			app-100;main;app::work;inner_[c] 200000
			app-100;main;do_syscall_64;vfs_read_[o] 300000
			app-100;main;do_syscall_64;vfs_read;[runnable]_[o] 50000
			waker-200;[not sampled]_[c] 1000000`},
		{graph.View{Mode: graph.OnCPU, By: graph.ByThread}, `
			main-100/100;[not sampled] 250000
			main-100/100;main;a:b 200000
			main-100/100;main;app::work;inner 200000
			waker-200/200;[not sampled] 1000000`},
		{graph.View{Mode: graph.OffCPU, By: graph.ByComm, States: true}, `
			main;main;do_syscall_64;vfs_read;[runnable] 50000
			main;main;do_syscall_64;vfs_read;[unknown (interruptible)] 300000`},
		{graph.View{Mode: graph.OffCPU, By: graph.ByWait}, `
			runnable;app-100;main;do_syscall_64;vfs_read;[runnable] 50000
			unknown;app-100;main;do_syscall_64;vfs_read 300000`},
		{graph.View{Mode: graph.OffCPU, By: graph.ByNone, Reverse: true}, `
			vfs_read;do_syscall_64;main 300000
			vfs_read;do_syscall_64;main;[runnable] 50000`},
		{graph.View{Mode: graph.OnCPU, By: graph.ByCPU}, `
			CPU 0;[not sampled] 250000
			CPU 0;main;a:b 200000
			CPU 0;main;app::work;inner 200000
			CPU 1;[not sampled] 1000000`},
		{graph.View{Mode: graph.Waker, By: graph.ByComm}, `
			main;main;do_syscall_64;vfs_read;--;inner;app::work;main;waker 300000
			main;main;do_syscall_64;vfs_read;[runnable];--;inner;app::work;main;waker 50000`},
	} {
		compareLines(t, foldedText(t, oneThread, profile.Options{Threads: true, CPUs: true, Wakes: 1}, c.view), c.want)
	}
}

// counts are the off-CPU intervals and waits for a CPU of a stream.
func counts(t *testing.T, text string) (intervals, waits uint64) {
	t.Helper()
	total := graph.Of(collected(t, fromtext.Stream(t, text), profile.Options{}), graph.View{Mode: graph.OffCPU}).Total[0]
	return total.Count, total.Waits
}

// A block and the wait for a CPU after it are one off-CPU interval; so are the creation of a thread and its first wait.
func TestCountsOfIntervals(t *testing.T) {
	for name, c := range map[string]struct {
		events           string
		intervals, waits uint64
	}{
		"blocked and woken": {`
			+0 cpu0 state_cpu 2 prio=120
			+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
			+700000 cpu1 waking 1 wakee=2 prio=120 target_cpu=0
			+750000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+400000 next_state=S`, 1, 1},
		"woken while it goes to sleep": {`
			+0 cpu0 state_cpu 2 prio=120
			+390000 cpu1 waking 1 wakee=2 prio=120 target_cpu=0
			+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
			+750000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+400000 next_state=S`, 1, 1},
		"preempted": {`
			+0 cpu0 state_cpu 2 prio=120
			+400000 cpu0 switch 2 next=1 prev_state=R+ prev_prio=120 next_prio=120
			+750000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+400000 next_state=R+`, 1, 1},
		"woken before the window": {`
			+0 cpu0 state_thread 2 state=S prio=120 since=-5000 woken=-100 waker=4 waker_cpu=1
			+750000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=-5000 next_state=S`, 1, 1},
		"twice": {`
			+0 cpu0 state_cpu 2 prio=120
			+100000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
			+200000 cpu1 waking 1 wakee=2 prio=120 target_cpu=0
			+300000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+100000 next_state=S
			+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
			+700000 cpu1 waking 1 wakee=2 prio=120 target_cpu=0`, 2, 2},
		"never woken": {`
			+0 cpu0 state_cpu 2 prio=120
			+400000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120`, 1, 0},
		"created": {`
			+0 cpu1 state_cpu 4 prio=120
			+100000 cpu1 fork 4 child=5
			+150000 cpu1 wakeup_new 4 wakee=5 prio=120 target_cpu=0
			+400000 cpu0 switch 1 next=5 prev_state=R prev_prio=120 next_prio=120`, 1, 1},
	} {
		task := "task 5 tid=300 pid=300 comm=child process_comm=child ppid=1 start=100000\n"
		if intervals, waits := counts(t, window+task+c.events+"\nend close=+1000000\n"); intervals != c.intervals || waits != c.waits {
			t.Errorf("%s: %d intervals and %d waits for a CPU, want %d and %d", name, intervals, waits, c.intervals, c.waits)
		}
	}
}

// A thread that only states at both ends show, off the CPU, counts for the whole window.
func TestThreadBlockedThroughTheWindow(t *testing.T) {
	compareLines(t, foldedText(t, window+`
		+0 cpu0 state_thread 2 state=D prio=120 since=-5000000000
		+1000000 cpu0 state_thread 2 state=D prio=120 since=-5000000000 stack=4 open
		end close=+1000000
	`, profile.Options{}, graph.View{States: true}), `app-100;main;do_syscall_64;vfs_read;[unknown (uninterruptible)]_[o] 1000000`)
}

// What is open when another session begins has the names and stacks of its own session, whose ids mean something else in the next one.
func TestOpenTimesKeepTheirSectionsNames(t *testing.T) {
	compareLines(t, foldedText(t, window+`
		+0 cpu0 state_thread 2 state=D prio=120 since=-5000000000
		+1000000 cpu0 state_thread 2 state=D prio=120 since=-5000000000 stack=4 open
		end close=+1000000
		section id=2 host=box boot_id=b open=20000000000 close=+1000000
		task 1 tid=0 pid=0 comm=swapper flags=2
		task 2 tid=300 pid=300 comm=other process_comm=other ppid=1 start=8
		+0 cpu0 state_cpu 1
		end close=+1000000 last
	`, profile.Options{}, graph.View{}), `app-100;main;do_syscall_64;vfs_read_[o] 1000000`)
}

func TestThrottledThreadsAreShownApart(t *testing.T) {
	text := window + `
		+0 cpu0 state_cpu 2 prio=120 since=-50
		+100000 cpu0 switch 2 next=4 prev_state=Rq+ prev_prio=120 next_prio=120
		+900000 cpu0 switch 4 next=2 prev_state=S prev_prio=120 next_prio=120 since=+100000 next_state=Rq+
		end close=+1000000
	`
	for _, v := range []graph.View{{Mode: graph.OffCPU}, {Mode: graph.OffCPU, States: true}} {
		if got, want := foldedText(t, text, profile.Options{}, v), "app-100;[no stack];[throttled] 800000"; !strings.Contains(got, want) {
			t.Errorf("%+v: got %s, want %s", v, got, want)
		}
	}
}

func TestPreemptedThreadsAreRunnable(t *testing.T) {
	text := window + `
		+0 cpu0 state_cpu 2 prio=120 since=-50
		+100000 cpu0 switch 2 next=4 prev_state=R+ prev_prio=120 next_prio=120
		+900000 cpu0 switch 4 next=2 prev_state=S prev_prio=120 next_prio=120 since=+100000 next_state=R+
		end close=+1000000
	`
	for _, c := range []struct {
		view graph.View
		want string
	}{
		{graph.View{Mode: graph.OffCPU}, "app-100;[no stack];[runnable] 800000\nwaker-200;[no stack] 100000"},
		{graph.View{Mode: graph.OffCPU, States: true}, "app-100;[no stack];[preempted] 800000\nwaker-200;[no stack];[unknown (interruptible)] 100000"},
	} {
		compareLines(t, foldedText(t, text, profile.Options{}, c.view), c.want)
	}
}

// A server's thread waits in epoll_wait for a share of the time that it is blocked, seen from two places in the code and with
// and without the scheduler's own functions.
func waitsFor(us int) string {
	return window + fmt.Sprintf(`
		+0 cpu0 state_thread 3 state=S prio=120 since=-5000
		+%d cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-5000 next_state=S stack=2
		+%[1]d cpu0 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		+1000000 cpu0 state_thread 3 state=D prio=120 since=+%[1]d stack=4 open
		end close=+1000000
	`, us*1000)
}

func TestWaitsForWorkAreIdle(t *testing.T) {
	for _, places := range []bool{false, true} {
		for _, c := range []struct {
			us   int
			view graph.View
			want string
		}{
			{901, graph.View{}, `
				app-100;main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 901000
				app-100;main;do_syscall_64;vfs_read_[o] 99000`},
			{901, graph.View{NoIdleWaits: true}, `app-100;main;do_syscall_64;vfs_read_[o] 99000`},
			{300, graph.View{}, `
				app-100;main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 300000
				app-100;main;do_syscall_64;vfs_read_[o] 700000`},
		} {
			compareLines(t, foldedText(t, waitsFor(c.us), profile.Options{Addresses: places}, c.view), c.want)
		}
	}
}

// A thread that only waits for signals is not at work.
func TestWaitsForSignalsAreIdle(t *testing.T) {
	for _, call := range []string{"__do_sys_pause", "__x64_sys_rt_sigsuspend", "__arm64_sys_rt_sigsuspend", "__ia32_compat_sys_rt_sigtimedwait_time64"} {
		text := strings.ReplaceAll(waitsFor(950), "__x64_sys_epoll_wait", call)
		compareLines(t, foldedText(t, text, profile.Options{}, graph.View{}), `
			app-100;main;do_syscall_64;`+call+`;ep_poll;[idle]_[o] 950000
			app-100;main;do_syscall_64;vfs_read_[o] 50000`)
	}
}

// Two places with the same functions count as one: 46 % each.
func TestWaitsForWorkAreFoundByFunctions(t *testing.T) {
	text := window + `
		+0 cpu0 state_thread 3 state=S prio=120 since=-5000
		+460000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-5000 next_state=S stack=2
		+460000 cpu0 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+920000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+460000 next_state=S stack=3
		+920000 cpu0 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		end close=+1000000
	`
	for _, places := range []bool{false, true} {
		compareLines(t, foldedText(t, text, profile.Options{Addresses: places}, graph.View{}), `
			app-100;[no stack]_[o] 80000
			app-100;main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 920000`)
	}
}

// A stack that lacks its outer functions counts as the usual place that it is the inner part of. Alone, it would be the usual place.
func TestCutStackIsTheUsualPlace(t *testing.T) {
	text := strings.Replace(waitsFor(300), "next_state=S stack=2", "next_state=S stack=90", 1)
	text = strings.Replace(text, "stack 5 ", "frame 90 module=1 offset=0x1900 caller\n  line function=\"start\"\nstack 90 frames=90,1,3,4,5,6,7 kernel_frames=5\nstack 5 ", 1)
	text = strings.Replace(text, "prev_state=D prev_prio=120 next_prio=120\n", "prev_state=S prev_prio=120 next_prio=120\n", 1)
	text = strings.Replace(text, "state=D prio=120 since=+300000 stack=4 open", "state=S prio=120 since=+300000 stack=2 open", 1)
	text = strings.Replace(text, "stack 2 ", "stack 2 cut ", 1)
	for _, places := range []bool{false, true} {
		compareLines(t, foldedText(t, text, profile.Options{Addresses: places}, graph.View{}), `
			app-100;[cut];main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 700000
			app-100;start;main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 300000`)
	}
}

func TestShortBlocksAreLeftOut(t *testing.T) {
	for min, want := range map[int64]string{
		350_000: "app-100;main;do_syscall_64;vfs_read 300000\napp-100;main;do_syscall_64;vfs_read;[runnable] 50000",
		350_001: "",
	} {
		compareLines(t, foldedText(t, oneThread, profile.Options{MinBlock: min}, graph.View{Mode: graph.OffCPU}), want)
	}
}

// main is woken by pool, which waker had woken while main was blocked.
const chained = window + `
+0 cpu0 state_thread 2 state=S prio=120 since=-5000
+0 cpu1 state_thread 3 state=S prio=120 since=%d
+0 cpu1 state_cpu 4 prio=120
+100000 cpu1 waking 4 wakee=3 prio=120 target_cpu=0 stack=1
+200000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-4000 next_state=S
+500000 cpu0 waking 3 wakee=2 prio=120 target_cpu=0 stack=5
+500000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=-5000 next_state=S stack=4
end close=+1000000
`

func TestChainsOfWakers(t *testing.T) {
	text := fmt.Sprintf(chained, -4000)
	for n, want := range map[int]string{
		1: "main;main;do_syscall_64;vfs_read;--;a:b;main;pool 500000",
		2: "main;main;do_syscall_64;vfs_read;--;a:b;main;pool;--;inner;app::work;main;waker 500000",
		3: "main;main;do_syscall_64;vfs_read;--;a:b;main;pool;--;inner;app::work;main;waker 500000",
	} {
		got := foldedText(t, text, profile.Options{Wakes: n}, graph.View{Mode: graph.Waker, By: graph.ByComm})
		if !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("%d wakers: got\n%s\nwant among it\n%s", n, got, want)
		}
	}
}

// A waker's waking from before the thread had left its CPU is not part of the chain.
func TestChainsEndWhereTheWaiterStillRan(t *testing.T) {
	got := foldedText(t, window+`
		+0 cpu0 state_cpu 2 prio=120
		+0 cpu1 state_cpu 4 prio=120
		+100000 cpu1 waking 4 wakee=3 prio=120 target_cpu=1 stack=1
		+150000 cpu1 switch 4 next=3 prev_state=S prev_prio=120 next_prio=120 since=-4000 next_state=S
		+200000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+500000 cpu1 waking 3 wakee=2 prio=120 target_cpu=0 stack=5
		+500000 cpu0 switch 1 next=2 prev_state=S prev_prio=120 next_prio=120 since=+200000 next_state=S stack=4
		end close=+1000000
	`, profile.Options{Wakes: 4}, graph.View{Mode: graph.Waker, By: graph.ByComm})
	if want := "main;main;do_syscall_64;vfs_read;--;a:b;main;pool 300000\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant among it\n%s", got, want)
	}
}

// A filter that hides the waker leaves its name and its stack.
func TestWakersThatAFilterHides(t *testing.T) {
	text := strings.Replace(oneThread, "waking 4 wakee=2 prio=120 target_cpu=0 stack=1", "waking 4 wakee=2 prio=120 target_cpu=0 stack=1 !subject", 1)
	got := foldedText(t, text, profile.Options{Wakes: 1}, graph.View{Mode: graph.Waker, By: graph.ByComm})
	if want := "main;main;do_syscall_64;vfs_read;--;inner;app::work;main;waker 300000\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant among it\n%s", got, want)
	}
}

// An interrupted thread is not the waker, and its own waker is not part of the chain.
func TestInterruptsWake(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(chained, -4000), "waking 3 wakee=2 prio=120 target_cpu=0 stack=5", "waking 3 wakee=2 prio=120 target_cpu=0 stack=9", 1)
	text = strings.Replace(text, "stack 5 frames=1,10", `frame 20 module=2 offset=0x2000 caller
		  line function="asm_sysvec_apic_timer_interrupt"
		frame 21 module=2 offset=0x2100
		  line function="hrtimer_wakeup"
		stack 5 frames=1,10
		stack 9 frames=1,10,20,21 kernel_frames=2`, 1)
	got := foldedText(t, text, profile.Options{Wakes: 3}, graph.View{Mode: graph.Waker, By: graph.ByComm})
	if want := "main;main;do_syscall_64;vfs_read;--;hrtimer_wakeup;asm_sysvec_apic_timer_interrupt;[interrupt] 500000\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant among it\n%s", got, want)
	}
}

// A thread runs three times: the long time has a sample, and one of the short ones.
const bursts = window + `
+0 cpu0 state_cpu 2 prio=120 since=-50
+400000 cpu0 sample 2 stack=1 source=1
+600000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+700000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+600000 next_state=S
+705000 cpu0 sample 2 stack=5 source=1
+710000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+800000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+710000 next_state=S
+830000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
end close=+1000000
`

func TestTimeIsSpreadBySpanOrThread(t *testing.T) {
	for spread, want := range map[bool]string{
		false: "main;[not sampled] 30000\nmain;main;a:b 10000\nmain;main;app::work;inner 600000",
		true:  "main;main;a:b 320000\nmain;main;app::work;inner 320000",
	} {
		compareLines(t, foldedText(t, bursts, profile.Options{Spread: spread}, graph.View{Mode: graph.OnCPU, By: graph.ByComm}), want)
	}
	// Without a sample it cannot be divided.
	compareLines(t, foldedText(t, strings.ReplaceAll(bursts, " sample 2 ", " sample 4 "), profile.Options{Spread: true}, graph.View{Mode: graph.OnCPU, By: graph.ByComm}), "main;[not sampled] 640000")
}

// A wait for work on one side of a difference is one on both sides.
func TestDifferencesAgreeOnWaitsForWork(t *testing.T) {
	idle := collected(t, fromtext.Stream(t, waitsFor(950)), profile.Options{})
	busy := collected(t, fromtext.Stream(t, waitsFor(850)), profile.Options{})
	profile.ShareIdleWaits(idle, busy)
	g := graph.Compare(busy, idle, graph.View{By: graph.ByNone}, 1)
	var out strings.Builder
	if err := folded.WriteGraph(&out, g, folded.Text{Unit: folded.Nanoseconds}); err != nil {
		t.Fatal(err)
	}
	compareLines(t, out.String(), `
		main;do_syscall_64;__x64_sys_epoll_wait;ep_poll;[idle]_[o] 950000 850000
		main;do_syscall_64;vfs_read_[o] 50000 150000`)
}

func TestRoundedWeightsAddUp(t *testing.T) {
	b := flametest.New()
	b.Labels = append(b.Labels, profile.Label{PID: 1, TID: 1, Comm: "a", Process: "a"})
	thread := &profile.Thread{TID: 1, PID: 1, Label: 1}
	for i := range 100 {
		thread.Cells = append(thread.Cells, profile.Cell{CellKey: profile.CellKey{Class: profile.ClassBlocked, Label: 1, Stack: b.Stack(b.Function(fmt.Sprint("f", i)))}, Ns: 333, Count: 1})
	}
	b.Threads = append(b.Threads, thread)
	for unit, want := range map[folded.Unit]int{folded.Nanoseconds: 33_300, folded.Microseconds: 33, folded.Milliseconds: 0, folded.Samples: 100} {
		var out bytes.Buffer
		g := graph.Of(b.Profile, graph.View{})
		if err := folded.WriteGraph(&out, g, folded.Text{Unit: unit}); err != nil {
			t.Fatal(err)
		}
		if got := sumFolded(t, out.String()); got != want {
			t.Errorf("unit %d: got %d, want %d", unit, got, want)
		}
	}
}

func sumFolded(t testing.TB, text string) (sum int) {
	t.Helper()
	for line := range strings.Lines(text) {
		n := 0
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n); err != nil || n <= 0 {
			t.Fatalf("line %q: %d, %v", line, n, err)
		}
		sum += n
	}
	return sum
}

func TestKernelFramesAreSuffixed(t *testing.T) {
	p := collected(t, fromtext.Stream(t, oneThread), profile.Options{})
	var out strings.Builder
	g := graph.Of(p, graph.View{Mode: graph.Wall})
	if err := folded.WriteGraph(&out, g, folded.Text{Unit: folded.Milliseconds, Kernel: true}); err != nil {
		t.Fatal(err)
	}
	var ns strings.Builder
	g = graph.Of(p, graph.View{Mode: graph.Wall})
	if err := folded.WriteGraph(&ns, g, folded.Text{Unit: folded.Nanoseconds, Kernel: true}); err != nil {
		t.Fatal(err)
	}
	if want := "app-100;main;do_syscall_64_[k];vfs_read_[k]_[o] 300000\n"; !strings.Contains(ns.String(), want) {
		t.Errorf("got\n%s\nwant among it\n%s", ns.String(), want)
	}
	if sum := sumFolded(t, out.String()); sum != 2 {
		t.Errorf("%d ms in all, want 2:\n%s", sum, out.String())
	}
}

// Slots hold all of the time, each what lies in it.
func TestSlotsHoldAllTime(t *testing.T) {
	p := collected(t, fromtext.Stream(t, oneThread), profile.Options{Slot: 100_000, MaxSlots: 10})
	for n, want := range []int64{200_000, 200_000, 200_000, 200_000, 100_000, 100_000, 100_000, 150_000, 200_000, 200_000} {
		got := graph.Of(p, graph.View{From: n, To: n + 1}).Total[0]
		if got.On != want || got.On+got.Off != 200_000 {
			t.Errorf("slot %d: %+v, want %d of 200,000 ns on the CPU", n, got, want)
		}
	}
	if p.Slots != 10 {
		t.Errorf("%d slots, want 10", p.Slots)
	}
	long := collected(t, fromtext.Stream(t, oneThread), profile.Options{Slot: 1000, MaxSlots: 7, Stretch: true})
	if long.Slot != 256_000 || long.Slots != 4 {
		t.Errorf("%d slots of %d ns, want 4 of 256,000", long.Slots, long.Slot)
	}
	r, err := format.NewReader(bytes.NewReader(fromtext.Stream(t, oneThread)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := profile.Collect(r, profile.Options{Slot: 100_000, MaxSlots: 9}); !errors.Is(err, profile.ErrSlots) {
		t.Errorf("one slot too many: %v", err)
	}
}

// The time on the CPU in a range of slots is divided among the samples in it.
func TestSpreadDividesTheTimeOfARange(t *testing.T) {
	p := collected(t, fromtext.Stream(t, bursts), profile.Options{Threads: true, Inline: true, Spread: true, Slot: 100_000, MaxSlots: 10})
	for _, c := range []struct {
		from, to int
		want     string
	}{
		{0, 4, "main;[not sampled] 400000"}, {4, 6, "main;main;app::work;inner 200000"}, {0, 7, "main;main;app::work;inner 600000"},
		{4, 8, "main;main;a:b 105000\nmain;main;app::work;inner 105000"}, {7, 10, "main;main;a:b 40000"}, {8, 9, "main;[not sampled] 30000"}, {9, 10, ""},
		{0, 10, "main;main;a:b 320000\nmain;main;app::work;inner 320000"},
	} {
		var out strings.Builder
		g := graph.Of(p, graph.View{Mode: graph.OnCPU, By: graph.ByComm, Inline: true, From: c.from, To: c.to})
		if err := folded.WriteGraph(&out, g, folded.Text{Unit: folded.Nanoseconds}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != c.want {
			t.Errorf("slots %d to %d: got\n%s\nwant\n%s", c.from, c.to, got, c.want)
		}
	}
}

// onCPU is the time on the CPU of each root of a view.
func onCPU(p *profile.Profile, v graph.View) map[string]int64 {
	g, times := graph.Of(p, v), make(map[string]int64)
	for _, root := range g.Children(0) {
		times[g.Nodes[root].Name] += g.Total[root].On
	}
	return times
}

// Whatever a machine does, each thread's cells, slots and trail add up to its lifetime, whatever is kept apart.
func TestEveryThreadAddsUpToItsLifetime(t *testing.T) {
	for seed := range uint64(60) {
		o := simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 6, Losses: seed%3 == 0, Epochs: seed%2 == 0, SilentRenames: seed%5 == 0, Interrupts: seed%7 > 3}
		stream := simulate.Stream(t, o, 400)
		want := lifetimes(t, stream)
		var all int64
		for _, ns := range want {
			all += ns
		}
		for _, kept := range []profile.Options{{Threads: true, Trail: true}, {Spread: true, Trail: true}, {Spread: true, Slot: 7, MaxSlots: 50, Stretch: true}, {Threads: true, Addresses: true, CPUs: true, Wakes: 3, Slot: 1000, MaxSlots: 100, Stretch: true}, {Wakes: 1, Slot: 7, MaxSlots: 50, Stretch: true}} {
			within := profile.UsualBounds()
			within.Unswept = int(seed%2)*1024 + 1 // threads that have ended leave at once, or at the end
			p := collectedWithin(t, stream, kept, within)
			got := make(map[string]int64)
			var sum int64
			for _, thread := range p.Threads {
				addUp(t, p, thread, kept)
				got[fmt.Sprint(thread.TID, " ", thread.Start)] += thread.Lifetime
				sum += thread.Lifetime
			}
			if sum != all {
				t.Errorf("seed %d, %+v: %d ns in all, want %d", seed, kept, sum, all)
			}
			for thread, ns := range want {
				if kept.Threads && got[thread] != ns {
					t.Errorf("seed %d, thread %s: lifetime %d, want %d", seed, thread, got[thread], ns)
				}
			}
		}
	}
}

// If there are too many stacks, those with the least time are dropped, and no time is lost.
func TestTooManyStacksDropThoseWithLeastTime(t *testing.T) {
	for seed := range uint64(20) {
		stream := simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 3, Threads: 20, Epochs: true, Losses: seed%2 == 0}, 4000)
		for n, kept := range []profile.Options{{Threads: true}, {Wakes: 2, Slot: 1000, MaxSlots: 64, Stretch: true, Addresses: true}, {Trail: true}, {Spread: true}, {Threads: true, Trail: true, Spread: true}, {Threads: true, Slot: 1000, MaxSlots: 64, Stretch: true, Spread: true}} {
			if (int(seed)+n)%3 > 0 { // each of a third of the streams, with and without losses
				continue
			}
			whole := graph.Of(collected(t, stream, kept), graph.View{By: graph.ByNone})
			p := collectedWithin(t, stream, kept, profile.Bounds{Nodes: 200, Bytes: 40_000, Cells: 150, Unswept: 1})
			for _, thread := range p.Threads {
				addUp(t, p, thread, kept)
			}
			g := graph.Of(p, graph.View{By: graph.ByNone})
			if got, want := g.Total[0], whole.Total[0]; got != want {
				t.Errorf("seed %d, %+v: %+v in all, want %+v", seed, kept, got, want)
			}
			if len(g.Nodes) >= len(whole.Nodes) || !slices.ContainsFunc(g.Nodes, func(n graph.GraphNode) bool { return n.Name == profile.MoreStacks }) {
				t.Errorf("seed %d, %+v: %d of %d frames are left, none of them %s", seed, kept, len(g.Nodes), len(whole.Nodes), profile.MoreStacks)
			}
		}
	}
}

// Where so many threads have ended that they take too much memory, those with the least time are merged by name. No time is
// lost, and those that have more keep their ids.
func TestTooManyThreadsAreAddedUpByName(t *testing.T) {
	var folded int64
	for seed := range uint64(20) {
		stream := simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 3, Threads: 20, Epochs: true, Losses: seed%2 == 0}, 4000)
		for n, kept := range []profile.Options{{Threads: true}, {Wakes: 2, Slot: 1000, MaxSlots: 64, Stretch: true, Addresses: true}, {Threads: true, Trail: true}, {Spread: true}, {Threads: true, Slot: 1000, MaxSlots: 64, Stretch: true, Spread: true}} {
			if (int(seed)+n)%3 > 0 {
				continue
			}
			whole := collected(t, stream, kept)
			within := profile.UsualBounds()
			within.Unswept, within.Room = 1, 40_000
			p := collectedWithin(t, stream, kept, within)
			for _, thread := range p.Threads {
				addUp(t, p, thread, kept)
			}
			want, got := graph.Of(whole, graph.View{By: graph.ByNone}), graph.Of(p, graph.View{By: graph.ByNone})
			if got.Total[0] != want.Total[0] {
				t.Errorf("seed %d, %+v: %+v in all, want %+v", seed, kept, got.Total[0], want.Total[0])
			}
			if whole.About.Merged != 0 {
				t.Errorf("seed %d, %+v: %d threads are merged where there is room", seed, kept, whole.About.Merged)
			}
			folded += p.About.Merged
		}
	}
	if folded == 0 {
		t.Error("no threads are merged")
	}
}

func addUp(t *testing.T, p *profile.Profile, thread *profile.Thread, kept profile.Options) {
	t.Helper()
	var ns int64
	for i := range thread.Cells {
		cell := &thread.Cells[i]
		ns += cell.Ns
		var slots int64
		for n, s := range cell.Slots {
			slots += s.Ns
			if n > 0 && s.Slot <= cell.Slots[n-1].Slot || int(s.Slot) >= p.Slots {
				t.Errorf("slots %v of %d", cell.Slots, p.Slots)
			}
		}
		if kept.Slot > 0 && slots != cell.Ns {
			t.Errorf("slots hold %d of %d ns", slots, cell.Ns)
		}
	}
	if ns != thread.Lifetime {
		t.Errorf("thread %d: cells hold %d of %d ns", thread.TID, ns, thread.Lifetime)
	}
	if !kept.Trail || kept.Threads && thread.TID == 0 && thread.Start == 0 && p.About.Merged > 0 {
		return // of several together there is no trail
	}
	ns = 0
	last := int64(0)
	if err := thread.Trail.Each(func(piece *profile.Piece) error {
		if piece.From < last {
			t.Errorf("thread %d: a piece from %d after one to %d", thread.TID, piece.From, last)
		}
		ns, last = ns+piece.To-piece.From, piece.To
		return nil
	}); err != nil || ns != thread.Lifetime {
		t.Errorf("thread %d: the trail has %d of %d ns, %v", thread.TID, ns, thread.Lifetime, err)
	}
}

// lifetimes are how long each thread lived in the window, by the spans alone.
func lifetimes(t testing.TB, stream []byte) map[string]int64 {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := living{lifetimes: make(map[string]int64)}
	l.spans = timeline.NewSpans(r, func(s *timeline.Span) {
		if !s.Thread.Idle() {
			l.lifetimes[fmt.Sprint(s.Thread.TID, " ", s.Thread.Start)] += s.To - s.From
		}
	})
	if err := timeline.Visit(r, &l); err != nil {
		t.Fatal(err)
	}
	return l.lifetimes
}

type living struct {
	spans     *timeline.Spans
	lifetimes map[string]int64
}

func (l *living) NewSection(s *format.Session) error { l.spans.NewSection(s); return nil }
func (l *living) Event(e *format.Event) error        { l.spans.Apply(e); return nil }
func (l *living) Close(at int64) error               { l.spans.Close(at); return nil }
func (l *living) Open(_ *format.Session, at, _ int64, _ bool) error {
	l.spans.Open(at)
	return nil
}

// A stream of any bytes is folded without a panic, and times add up to lifetimes.
func FuzzCollect(f *testing.F) {
	f.Add(fromtext.Stream(f, oneThread), uint8(1))
	f.Add(fromtext.Stream(f, fmt.Sprintf(chained, -4000)), uint8(3))
	f.Add(fromtext.Stream(f, waitsFor(950)), uint8(6))
	f.Add(simulate.Stream(f, simulate.Options{Seed: 4, CPUs: 2, Threads: 5, Losses: true, Epochs: true, SilentRenames: true}, 80), uint8(7))
	f.Fuzz(func(t *testing.T, stream []byte, which uint8) {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		defer r.Close()
		kept := profile.Options{Threads: which&1 != 0, Addresses: which&2 != 0, CPUs: which&4 != 0, Wakes: int(which & 3), Trail: which&8 != 0, Idle: which&16 != 0}
		if which&32 != 0 {
			kept.Slot, kept.MaxSlots, kept.Stretch = 1000, 64, true
		}
		p, err := profile.Collect(r, kept)
		t.Cleanup(p.Close)
		if err != nil && !errors.Is(err, format.ErrOverlap) && !errors.Is(err, format.ErrNewer) {
			t.Skip(err)
		}
		kept.Slot = 0 // of damaged input a time may lie before the window
		for _, thread := range p.Threads {
			if kept.Idle {
				kept.Trail = false
			}
			addUp(t, p, thread, kept)
		}
		g := graph.Of(p, graph.View{States: true})
		if err := folded.WriteGraph(io.Discard, g, folded.Text{}); err != nil {
			t.Fatal(err)
		}
	})
}

// Trails that cannot be stored give one error.
func TestTrailsFailOnce(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	r, err := format.NewReader(bytes.NewReader(fromtext.Stream(t, oneThread)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := profile.CollectTrails(r, 0)
	t.Cleanup(p.Close)
	if err == nil || strings.Count(err.Error(), "TMPDIR") != 1 {
		t.Errorf("got %v", err)
	}
}

// Inner, in lib.h, is inlined into app::work.
func TestInlinedFunctionsAndLines(t *testing.T) {
	text := strings.NewReplacer(`"inner"`, `"inner" file="/src/lib.h" line=3`, `"_ZN3app4workEv"`, `"_ZN3app4workEv" file="/src/app.cc" line=7`).Replace(bursts)
	for _, c := range []struct {
		inline, lines bool
		want          string
	}{
		{false, false, "app::work"},
		{true, false, "app::work;inner"},
		{false, true, "app::work (app.cc:7)"},
		{true, true, "app::work (app.cc:7);inner (lib.h:3)"},
	} {
		for _, places := range []bool{false, true} {
			o := profile.Options{Spread: true, Addresses: places, Inline: c.inline, Lines: c.lines}
			v := graph.View{Mode: graph.OnCPU, By: graph.ByComm, Inline: c.inline, Lines: c.lines}
			compareLines(t, foldedAs(t, text, o, v), "main;main;a:b 320000\nmain;main;"+c.want+" 320000")
		}
	}
}

package profile_test

import (
	"slices"
	"strings"
	"testing"

	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/fromtext"
)

// A system call is one frame, wherever its functions are, with what is kept apart as without it.
func TestSystemCallsAreOneFrame(t *testing.T) {
	const text = window + `
		+0 cpu0 state_thread 3 state=S prio=120 since=-5000
		+400000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-5000 next_state=S stack=3
		+500000 cpu0 sample 3 stack=2
		+600000 cpu0 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		+900000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+600000 next_state=D stack=4
		+900000 cpu0 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		end close=+1000000
	`
	for _, o := range []profile.Options{{}, {Addresses: true}, {Threads: true, Trail: true}, {Inline: true, Lines: true}} {
		p := collectedWithin(t, fromtext.Stream(t, text), o, profile.UsualBounds())
		var got strings.Builder
		if err := folded.Write(&got, p, graph.View{}, folded.Text{Unit: folded.Nanoseconds, Kernel: true}); err != nil {
			t.Fatal(err)
		}
		compareLines(t, got.String(), `
			app-100;[no stack]_[o] 100000
			app-100;main;epoll_wait()_[k];ep_poll_[k];schedule_[k];__schedule_[k]_[c] 200000
			app-100;main;epoll_wait()_[k];ep_poll_[k];[idle]_[o] 400000
			app-100;main;vfs_read_[k]_[o] 300000`)
		i := slices.IndexFunc(p.Frames, func(f profile.Frame) bool { return len(f.Functions) > 0 && f.Functions[0].Name == "epoll_wait()" })
		if f := p.Frames[i]; f.Module != "[kernel]" || o.Addresses && (f.Offset != 0x3ff || f.Functions[0].Linkage != "__x64_sys_epoll_wait") {
			t.Errorf("%+v: the frame is %+v, want one at the entry of the system call", o, f)
		}
	}
}

// A thread that an interrupt took the CPU from was in its program.
func TestPreemptedThreadsAreInTheirProgram(t *testing.T) {
	const text = window + `
frame 20 module=2 offset=0x900 caller
  line function="asm_sysvec_apic_timer_interrupt"
frame 21 module=2 offset=0xa00 caller
  line function="irqentry_exit_to_user_mode"
stack 20 frames=1,20,21,6,7 kernel_frames=4
		+0 cpu0 state_cpu 3 prio=120
		+400000 cpu0 switch 3 next=1 prev_state=R prev_prio=120 next_prio=120
		+900000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+400000 next_state=R stack=20
		end close=+1000000
	`
	for all, want := range map[bool]string{
		false: `app-100;main;[runnable] 500000`,
		true:  `app-100;main;asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;[runnable] 500000`,
	} {
		p := collectedWithin(t, fromtext.Stream(t, text), profile.Options{KernelFrames: all}, profile.UsualBounds())
		var got strings.Builder
		if err := folded.Write(&got, p, graph.View{Mode: graph.OffCPU}, folded.Text{Unit: folded.Nanoseconds}); err != nil {
			t.Fatal(err)
		}
		compareLines(t, got.String(), want)
	}
}

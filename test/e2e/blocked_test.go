//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// blockedRun is one recording of testdata/blockers.c, with what was seen of it without the recorder.
type blockedRun struct {
	*blockedCapture
	threads *blockedThreads
	proc    procStacks
	pause   time.Duration // the longest time between two readings of a thread in /proc
	kernel  *kernelSymbols
	// The functions that the scheduler waits in, which /proc leaves out of its stacks (in_sched_functions).
	waitsFrom, waitsTo uint64
	said               string // by the recorder, on standard error
	known              map[checkedStack]string
}

// checkedStack is a stack and the work that it was compared with: the same ones occur thousands of times.
type checkedStack struct {
	stack *stackSeen
	work  string
}

func newBlockedRun(t *testing.T) *blockedRun {
	t.Helper()
	b := &blockedRun{threads: newBlockedThreads(), proc: procStacks{}, kernel: kernelText(t), known: map[checkedStack]string{}}
	b.waitsFrom, b.waitsTo = schedulerText(t, b.kernel)
	return b
}

// diskDir is a folder on a block device, so that reading and writing it blocks; "" if there is none. It is one that
// WPROF_TEST_DISK names, or a temporary one.
func diskDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if named := os.Getenv("WPROF_TEST_DISK"); named != "" {
		dir = named
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	device := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	if _, err := os.Stat(device); err != nil {
		return ""
	}
	return dir
}

// recordBlockers records the workload as the recorder's command.
func recordBlockers(t *testing.T, flags []string, words ...string) *blockedRun {
	t.Helper()
	tools.NeedPrivilege(t)
	program, file := tools.Path("blockers"), filepath.Join(t.TempDir(), "blocked.wprof")
	args := append(append([]string{"-v", "--stats", "-o", file}, flags...), append([]string{"--", program}, words...)...)
	b := newBlockedRun(t)
	cmd := exec.Command(tools.Path("wprof-record"), args...)
	var err error
	if b.said, err = b.follow(t, cmd); err != nil {
		t.Fatalf("%v: %v: %s", args, err, b.said)
	}
	b.blockedCapture = readBlocked(t, file, program, b.kernel, b.threads)
	return b
}

// follow runs a command that prints what the workload prints, and watches the workload's threads meanwhile.
func (b *blockedRun) follow(t *testing.T, cmd *exec.Cmd) (stderr string, err error) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-b.threads.ready:
			var err error
			if b.pause, err = b.proc.watch(b.tids(), ended); err != nil {
				t.Error(err)
			}
		case <-ended:
		}
	}()
	b.threads.listen(out)
	close(ended)
	<-watched
	if err = cmd.Wait(); len(b.threads.tids) == 0 {
		t.Fatalf("%v: the workload has printed no threads: %v: %s", cmd.Args, err, said.String())
	}
	return said.String(), err
}

func (b *blockedRun) tids() (all []int32) {
	for _, tid := range b.threads.tids {
		all = append(all, tid)
	}
	return all
}

// wrongUser returns what is wrong with the user part of a stack that should be in one of the chains of a thread. The whole
// of it is compared, from the C library's clone() to the function that makes the system call.
func wrongUser(s *stackSeen, work string, waits []string) string {
	for _, wait := range waits {
		want := chain(work, wait)
		if slices.EqualFunc(s.user, want, func(p place, name string) bool {
			return slices.Contains(p.names, name) && slices.Contains(p.names, p.named)
		}) {
			return ""
		}
	}
	return fmt.Sprintf("its user part is in none of the chains of %v", waits)
}

const notShown = "it is none that /proc has shown"

// wrongKernel returns what is wrong with the kernel part of a stack. /proc shows the return address of every function but
// those that the scheduler waits in, which are left out of both sides here: without them, the two are to have the same
// functions and the same return addresses in them, and the user part is to end where /proc says that the thread has
// entered the kernel. Every name must be that of the kernel's symbols.
func (b *blockedRun) wrongKernel(s *stackSeen, tid int32) string {
	shown := []string{fmt.Sprintf("%#x", s.user[len(s.user)-1].address)}
	for _, p := range s.kernel {
		if !slices.Contains(p.names, p.named) {
			return fmt.Sprintf("%#x is called %q, kallsyms has %v", p.address, p.named, p.names)
		}
		if p.address < b.waitsFrom || p.address >= b.waitsTo {
			shown = append(shown, p.String())
		}
	}
	if b.proc[tid][strings.Join(shown, " ")] == 0 {
		return notShown
	}
	return ""
}

// wrongSwitch returns what is wrong with the stack of a thread that has come back, which took it itself. It goes on to the
// function that switches, and has nothing of the kernel programs that are called there.
func (b *blockedRun) wrongSwitch(s *stackSeen, name string) string {
	if wrong := b.wrongStack(s, name, "work_"+name, waitsOf[name]); wrong != "" {
		return wrong
	}
	if last := s.kernel[len(s.kernel)-1]; last.named != "__schedule" {
		return "it does not end in __schedule"
	}
	return ""
}

// wrongStack returns what is wrong with the stack of a thread that is blocked; "" for nothing.
func (b *blockedRun) wrongStack(s *stackSeen, name, work string, waits []string) string {
	wrong, found := b.known[checkedStack{s, work}]
	if found {
		return wrong
	}
	switch {
	case s == nil:
		wrong = "it has no stack"
	case s.cut:
		wrong = "it is cut"
	case len(s.kernel) == 0:
		wrong = "it has no kernel part"
	default:
		if wrong = wrongUser(s, work, waits); wrong == "" {
			wrong = b.wrongKernel(s, b.threads.tids[name])
		}
	}
	b.known[checkedStack{s, work}] = wrong
	return wrong
}

// blocksOf are those of a thread.
func (b *blockedRun) blocksOf(name string) (some []block) {
	for _, block := range b.blocks {
		if block.tid == b.threads.tids[name] {
			some = append(some, block)
		}
	}
	return some
}

// faults counts what is wrong with the stacks of something.
type faults map[string]int

func (f faults) total() (n int) {
	for _, times := range f {
		n += times
	}
	return n
}

// String lists the most frequent ones.
func (f faults) String() string {
	var lines []string
	for what := range f {
		lines = append(lines, what)
	}
	sort.Slice(lines, func(i, j int) bool { return f[lines[i]] > f[lines[j]] })
	var out strings.Builder
	for i, what := range lines {
		if i == 12 {
			fmt.Fprintf(&out, "\n  and %d others", len(lines)-i)
			break
		}
		fmt.Fprintf(&out, "\n  %d times: %s", f[what], what)
	}
	return out.String()
}

// procLists are the stacks of a thread that /proc has shown.
func (b *blockedRun) procLists(name string) faults {
	return faults(b.proc[b.threads.tids[name]])
}

const runFor = "3000" // ms

func TestBlockedThreadsHaveTheStackThatTheyBlockWith(t *testing.T) {
	tools.NeedPrivilege(t)
	words := []string{"run", runFor}
	disk := diskDir(t)
	if disk != "" {
		words = append(words, disk)
	}
	b := recordBlockers(t, []string{"--offcpu-min", "0"}, words...)
	t.Logf("%s", b.said)
	for _, name := range []string{"nanosleep", "pipe", "write", "futex", "wake", "fault", "fsync"} {
		t.Run(name, func(t *testing.T) {
			if b.threads.tids[name] == 0 {
				t.Skip("the folder is on no block device (docs/kernels.md)")
			}
			b.checkCount(t, name)
			b.checkStacks(t, name)
		})
	}
}

// checkCount compares with the kernel's own count, which begins when the thread has a name and ends before it exits.
func (b *blockedRun) checkCount(t *testing.T, name string) {
	tid := b.threads.tids[name]
	left, back, want := b.left[tid], int64(len(b.blocksOf(name))), b.threads.blocks[tid]
	if b.lost > 0 {
		t.Fatalf("%d events are lost", b.lost)
	}
	if want < 5 || left < want || left > want+4 {
		t.Errorf("it blocks %d times in the capture, the kernel counted %d", left, want)
	}
	// A kernel may not report switches from some threads, and so not the next thread either (docs/kernels.md).
	if back > left || float64(back) < 0.99*float64(left) {
		t.Errorf("it blocks %d times and comes back %d times", left, back)
	}
}

func (b *blockedRun) checkStacks(t *testing.T, name string) {
	wrong, right := faults{}, map[*stackSeen]int{}
	inWay, total, unseen := 0, 0, 0
	for _, block := range b.blocksOf(name) {
		total++
		what := b.wrongSwitch(block.stack, name)
		if what == notShown && time.Duration(block.to-block.from) < b.pause {
			unseen++ // it may have been over before anyone looked
			continue
		}
		if what != "" {
			wrong[fmt.Sprintf("%s: %v (%v)", what, block.stack, block.state)]++
			continue
		}
		right[block.stack]++
		if wrongUser(block.stack, "work_"+name, waitsOf[name][:1]) == "" {
			inWay++
		}
	}
	for stack, n := range right {
		t.Logf("%d of %d blocks: %v", n, total, stack)
	}
	if unseen > 0 {
		t.Logf("%d of %d blocks have a stack that /proc has not shown, and were shorter than the %v between two looks", unseen, total, b.pause)
	}
	if wrong.total() > 0 {
		t.Logf("%d of %d blocks have a wrong stack:%s", wrong.total(), total, wrong)
	}
	if len(right) == 0 || float64(wrong.total()) > 0.05*float64(total) {
		t.Errorf("%d of %d blocks have a wrong stack:%s\n/proc has shown:%s", wrong.total(), total, wrong, b.procLists(name))
	}
	if inWay < (total-unseen)/2 {
		t.Errorf("only %d of %d blocks are in inner_%s", inWay, total-unseen, waitsOf[name][0])
	}
}

func TestShortBlocksHaveNoStack(t *testing.T) {
	const bound = 5 * time.Millisecond
	b := recordBlockers(t, []string{"--offcpu-min", bound.String()}, "run", runFor)
	for _, name := range []string{"nanosleep", "pipe", "futex", "write"} {
		long, short := 0, 0
		wrong := faults{}
		for _, block := range b.blocksOf(name) {
			switch lasted := time.Duration(block.to - block.from); {
			case lasted >= bound:
				long++
				if what := b.wrongSwitch(block.stack, name); what != "" {
					wrong[fmt.Sprintf("%s: %v (%v)", what, block.stack, block.state)]++
				}
			default:
				short++
				if block.stack != nil {
					t.Errorf("%s has a stack for a block of %v", name, lasted)
				}
			}
		}
		t.Logf("%s: %d long and %d short blocks", name, long, short)
		if float64(wrong.total()) > 0.05*float64(long) {
			t.Errorf("%s: %d of %d long blocks have a wrong stack:%s", name, wrong.total(), long, wrong)
		}
		if name == "nanosleep" && (long < 20 || short < 20) {
			t.Errorf("%s was blocked for long %d times and for a short time %d times", name, long, short)
		}
	}
}

func TestThreadsThatAreStillBlockedHaveAStack(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"since the window was open", []string{"-d1s", "--offcpu-min", "0"}},
		{"longer than the bound", []string{"-d1s", "--offcpu-min", "100ms"}},
		{"by default", []string{"-d1s"}},
	} {
		t.Run(c.name, func(t *testing.T) { recordBlockers(t, c.flags, "stay", "3000").checkStillBlocked(t) })
	}
}

func TestThreadsThatHaveNotBeenBlockedForLongHaveNoStack(t *testing.T) {
	b := recordBlockers(t, []string{"-d1s", "--offcpu-min", "20s"}, "stay", "3000")
	for _, name := range []string{"nanosleep", "pipe", "futex"} {
		if at, found := b.open[b.threads.tids[name]]; !found || !blocking(at.state) || at.stack != nil {
			t.Errorf("%s, blocked for a second: %+v", name, at)
		}
	}
}

// A thread that is blocked below more calls than a stack has room for keeps the innermost ones, and the recording is whole.
func TestThreadBlockedInDeepRecursionHasAStack(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	program, file := filepath.Join(dir, "recursion"), filepath.Join(dir, "deep.wprof")
	source := program + ".c"
	if err := os.WriteFile(source, []byte(`#include <stdio.h>
#include <unistd.h>
int deep(int n) { if (!n) { puts("ready"); fflush(stdout); pause(); } else { deep(n - 1); __asm__ volatile(""); } return n; }
int main(void) { return deep(1000); }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-O1", "-o", program, source)
	workload := tools.StartWorkload(t, exec.Command(program))
	workload.Until("ready")
	tools.Run(t, "wprof-record", "-d300ms", "-p", workload.PIDText(), "-o", file)
	folded := string(tools.Run(t, "wprof-flame", "--off-cpu", file))
	if n := strings.Count(folded, ";deep"); n < 490 || n > 511 {
		t.Errorf("the stack has %d calls of the function, want some 500: %.300s", n, folded)
	}
}

// TestThreadsThatWereBlockedBeforeHaveAStack records threads that do nothing at all while the window is open.
func TestThreadsThatWereBlockedBeforeHaveAStack(t *testing.T) {
	tools.NeedPrivilege(t)
	program, file := tools.Path("blockers"), filepath.Join(t.TempDir(), "blocked.wprof")
	b := newBlockedRun(t)
	workload := exec.Command(program, "stay", "60000")
	recorded := make(chan error, 1)
	go func() {
		<-b.threads.ready
		time.Sleep(200 * time.Millisecond)
		out, err := exec.Command(tools.Path("wprof-record"), "-d500ms", "-o", file).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		recorded <- errors.Join(err, workload.Process.Kill())
	}()
	said, ended := b.follow(t, workload)
	if err := <-recorded; err != nil {
		t.Fatalf("%v (the workload: %v: %s)", err, ended, said)
	}
	b.blockedCapture = readBlocked(t, file, program, b.kernel, b.threads)
	b.checkStillBlocked(t)
}

func (b *blockedRun) checkStillBlocked(t *testing.T) {
	t.Helper()
	for _, name := range []string{"nanosleep", "pipe", "futex"} {
		at, found := b.open[b.threads.tids[name]]
		if !found || !blocking(at.state) {
			t.Errorf("%s: the capture does not say that it is still blocked: %+v", name, at)
			continue
		}
		if what := b.wrongStack(at.stack, name, "stay_"+name, []string{name}); what != "" {
			t.Errorf("%s: %s: %v\n/proc has shown:%s", name, what, at.stack, b.procLists(name))
		}
	}
	if at, found := b.open[b.threads.tids["spin"]]; found && at.stack != nil {
		t.Errorf("a thread that has never blocked has a stack: %v", at.stack)
	}
}

func TestWakersHaveTheStackThatTheyWakeWith(t *testing.T) {
	// All of the machine: it is mostly an idle thread that a timer interrupts to end a nap.
	b := recordBlockers(t, []string{"-a", "-Swaker"}, "run", runFor)
	for _, c := range []struct {
		waker, way, wakee string
		kernel            []string // one of these functions leads to it
	}{
		{"write", "write", "pipe", []string{"pipe_write", "anon_pipe_write"}},
		{"wake", "wake", "futex", []string{"futex_wake"}},
	} {
		right, wrong := 0, faults{}
		for _, w := range b.wakes {
			if w.waker != b.threads.tids[c.waker] || w.wakee != b.threads.tids[c.wakee] {
				continue
			}
			if what := wrongWaker(w.stack, "work_"+c.waker, c.way, c.kernel); what != "" {
				wrong[fmt.Sprintf("%s: %v", what, w.stack)]++
				continue
			}
			right++
			if right == 1 {
				t.Logf("%s: %v", c.waker, w.stack)
			}
		}
		total := right + wrong.total()
		if blocks := len(b.blocksOf(c.wakee)); total < blocks*9/10 || float64(right) < 0.95*float64(total) {
			t.Errorf("%s wakes %d times, %s blocks %d times; %d have a wrong stack:%s", c.waker, total, c.wakee, blocks, wrong.total(), wrong)
		}
	}
	b.checkTimerWakes(t)
}

// checkTimerWakes checks what ends the naps: the timer's interrupt, whatever it interrupts. That may be a kernel program, or
// finish_task_switch, which lets interrupts in again: what is outside the interrupt is not looked at.
func (b *blockedRun) checkTimerWakes(t *testing.T) {
	t.Helper()
	right, wrong := 0, faults{}
	for _, w := range b.wakes {
		switch {
		case w.wakee != b.threads.tids["nanosleep"]:
		case w.stack != nil && inKernelPart(w.stack, []string{"hrtimer_wakeup"}) && endsInWakeup(w.stack):
			right++
		default:
			wrong[w.stack.String()]++
		}
	}
	t.Logf("%d wakings of the napping thread are the timer's, %d are not:%s", right, wrong.total(), wrong)
	if right == 0 || float64(right) < 0.99*float64(right+wrong.total()) {
		t.Errorf("of %d wakings of the napping thread these are not the timer's:%s", right+wrong.total(), wrong)
	}
}

func wrongWaker(s *stackSeen, work, way string, kernel []string) string {
	if s == nil {
		return "it has no stack"
	}
	if wrong := wrongUser(s, work, []string{way}); wrong != "" {
		return wrong
	}
	if !inKernelPart(s, kernel) {
		return fmt.Sprintf("its kernel part has none of %v", kernel)
	}
	if f := tracerIn(s); f != "" {
		return f + " is the tracer's"
	}
	if !endsInWakeup(s) {
		return "it does not end in try_to_wake_up"
	}
	return ""
}

func endsInWakeup(s *stackSeen) bool {
	return len(s.kernel) > 0 && s.kernel[len(s.kernel)-1].named == "try_to_wake_up"
}

func inKernelPart(s *stackSeen, functions []string) bool {
	return slices.ContainsFunc(s.kernel, func(p place) bool { return slices.Contains(functions, p.named) })
}

// tracerIn is a function of a stack that is there only because of tracing.
func tracerIn(s *stackSeen) string {
	for _, p := range s.kernel {
		for _, prefix := range []string{"bpf_trace_", "bpf_prog_", "bpf_get_", "__bpf_", "__traceiter_", "ftrace_", "kprobe_", "finish_task_switch"} {
			if strings.HasPrefix(p.named, prefix) {
				return p.named
			}
		}
	}
	return ""
}

func TestStacksAreThereWhenRequested(t *testing.T) {
	for _, c := range []struct {
		flags               []string
		blocks, wakes, none bool
	}{
		{flags: []string{"--offcpu-min", "0"}, blocks: true},
		{flags: []string{"-Swaker"}, wakes: true},
		{flags: []string{"-Soffcpu", "-Swaker", "--offcpu-min", "0"}, blocks: true, wakes: true},
		{flags: []string{"--no-stacks"}, none: true},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			b := recordBlockers(t, c.flags, "run", "500")
			blocks, wakes := 0, 0
			for _, block := range b.blocks {
				if block.stack != nil {
					blocks++
				}
			}
			for _, w := range b.wakes {
				if w.stack != nil {
					wakes++
				}
			}
			if blocks > 0 != c.blocks || wakes > 0 != c.wakes || c.none && b.stacks > 0 {
				t.Errorf("of %d blocks %d have a stack, of %d wakings %d; %d events name one", len(b.blocks), blocks, len(b.wakes), wakes, b.stacks)
			}
		})
	}
}

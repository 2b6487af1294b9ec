//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"wprof/test/tools"
)

// chainsOf are the user stacks in which testdata/chains.c sleeps, from the root. Functions of the C library have several names.
var chainsOf = map[string]*regexp.Regexp{
	"a frame of variable size": regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;(deep;){51}variable;sleeps;[^;]*nanosleep$`),
	"a signal":                 regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;interrupted;[^;]*(;[^;]*){0,3};handler;sleeps;[^;]*nanosleep$`),
	"a library":                regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;through_library;call_back;from_library;called_back;sleeps;[^;]*nanosleep$`),
	"generated code":           regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;through_generated;\[anon\];called_back;sleeps;[^;]*nanosleep$`),
	"a thread":                 regexp.MustCompile(`^[^;]*clone3?;start_thread;in_thread;sleeps;[^;]*nanosleep$`),
}

// Code without frame pointers is unwound by tables. Once they are there, each stack of a process is whole from its first
// instruction on, also of a library that it loads itself and through a signal.
func TestStacksWithoutFramePointers(t *testing.T) {
	tools.NeedPrivilege(t)
	const first, second = 100, 300
	file := filepath.Join(t.TempDir(), "chains.wprof")
	chains, library := tools.Path("chains"), tools.Path("chains-library.so")
	tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache=no", "--offcpu-min=0", "-o", file, "--", "sh", "-c",
		fmt.Sprintf("%s %d %s; sleep 0.3; %[1]s %[4]d %[3]s", chains, first, library, second))
	for pid, stacks := range sleepsOf(t, file) {
		if total(stacks) >= 2*second { // else it is the first one, while tables were made
			checkChains(t, pid, stacks, second)
			return
		}
	}
	t.Fatalf("no process of chains slept %d times", 2*second)
}

// The tables that one recording has made are there from the beginning of the next one.
func TestUnwindTablesAreKept(t *testing.T) {
	tools.NeedPrivilege(t)
	const times = 100
	dir := t.TempDir()
	var file string
	for _, name := range []string{"first", "second"} {
		file = filepath.Join(dir, name+".wprof")
		tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache", filepath.Join(dir, "cache"), "--offcpu-min=0", "-o", file, "--", "sh", "-c",
			fmt.Sprintf("%s %d %s; sleep 0.5", tools.Path("chains"), times, tools.Path("chains-library.so")))
	}
	checkEnds(t, file)
	for pid, stacks := range sleepsOf(t, file) {
		checkChains(t, pid, stacks, times)
		return
	}
	t.Fatal("chains did not sleep")
}

// checkEnds checks that nearly all stacks are recorded as whole, and none as too deep.
func checkEnds(t *testing.T, file string) {
	t.Helper()
	var report struct {
		Recordings []struct {
			Samples struct {
				Stacks  int                 `json:"user_stacks"`
				TooDeep int                 `json:"too_deep"`
				Ends    struct{ Whole int } `json:"user_stack_ends"`
			}
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", file), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.Recordings[0].Samples; got.TooDeep > 0 || got.Ends.Whole*100 < got.Stacks*95 {
		t.Errorf("of %d samples' stacks %d are whole and %d too deep", got.Stacks, got.Ends.Whole, got.TooDeep)
	}
}

// A uretprobe replaces the return addresses of its function on the stack, which recursion has many times, and which may have several of
// them. Whatever probes a program has, its stacks are the same.
func TestStacksUnderUretprobes(t *testing.T) {
	tools.NeedPrivilege(t)
	const first, second = 100, 300
	file := filepath.Join(t.TempDir(), "probed.wprof")
	chains, library := tools.Path("chains"), tools.Path("chains-library.so")
	for _, function := range []string{"deep", "variable", "variable", "sleeps", "handler", "called_back", "in_thread"} {
		probeReturns(t, chains, function)
	}
	tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache=no", "--offcpu-min=0", "-o", file, "--", "sh", "-c",
		fmt.Sprintf("%s %d %s; sleep 0.3; %[1]s %[4]d %[3]s", chains, first, library, second))
	for pid, stacks := range sleepsOf(t, file) {
		if total(stacks) >= 2*second {
			checkChains(t, pid, stacks, second)
			checkBlocked(t)
			return
		}
	}
	t.Fatalf("no process of chains slept %d times", 2*second)
}

// probeReturns lets a program run when a function of an executable returns.
func probeReturns(t *testing.T, path, function string) {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	executable, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	probe, err := executable.Uretprobe(function, program, nil)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this kernel has no uprobes")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = probe.Close() })
}

// A thread that is blocked throughout the window has a whole stack too, although its tables were not needed before.
func TestBlockedStackWithoutFramePointers(t *testing.T) {
	tools.NeedPrivilege(t)
	checkBlocked(t)
}

// The dynamic linker's function that finds others has its frame at rbx, which the functions that it calls have saved.
func TestStackThroughTheDynamicLinker(t *testing.T) {
	tools.NeedPrivilege(t)
	checkSleeper(t, "lazy", "chains-lazy.so", regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;through_linker;call_lazily;_dl_runtime_resolve[^;]*;_dl_fixup;(\S+;)?(resolve|lazy);sleep;\S*nanosleep$`))
}

// Generated code has no tables, but what runs after a call may say where the return address is.
func TestStackThroughGeneratedCode(t *testing.T) {
	tools.NeedPrivilege(t)
	checkSleeper(t, "generated", "chains-library.so", chainsOf["generated code"])
}

// In vfork() and clone() the return address is in a register, or behind a system call from which the new thread returns too.
func TestStacksOfParents(t *testing.T) {
	tools.NeedPrivilege(t)
	const children = 200
	file := filepath.Join(t.TempDir(), "parents.wprof")
	tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache=no", "--offcpu-min=0", "-o", file, "--", "sh", "-c",
		fmt.Sprintf("%s 100 %s; sleep 0.3; %[1]s children %[2]s", tools.Path("chains"), tools.Path("chains-library.so")))
	for function, chain := range map[string]*regexp.Regexp{
		"vfork":  regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;forks;[^;]*vfork$`),
		"clone":  regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;clones;[^;]*clone$`),
		"clone3": regexp.MustCompile(`^_start;(\S+;)?__libc_start\S*;main;spawns;posix_spawn;(\S+;)*[^;]*clone3?$`),
	} {
		right := 0
		for _, stacks := range sleepsOf(t, file) {
			for stack, n := range stacks {
				isChild := !strings.Contains(stack, ";")
				if chain.MatchString(stack) {
					right += n
				} else if strings.HasSuffix(stack, function) && !isChild && !strings.Contains(stack, ";spawns;") {
					t.Errorf("%d blocks in %s", n, stack)
				}
			}
		}
		if right < children*9/10 || right > 2*children {
			t.Errorf("%d blocks of parents in %s, want %d", right, function, children)
		}
	}
}

// checkBlocked records a thread that is blocked throughout the window.
func checkBlocked(t *testing.T) {
	t.Helper()
	checkSleeper(t, "0", "chains-library.so", chainsOf["a frame of variable size"])
}

// checkSleeper records chains while it sleeps.
func checkSleeper(t *testing.T, how, library string, want *regexp.Regexp) {
	t.Helper()
	sleeper := tools.StartWorkload(t, exec.Command(tools.Path("chains"), how, tools.Path(library)))
	sleeper.WaitAsleep()
	file := filepath.Join(t.TempDir(), "blocked.wprof")
	tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache=no", "-d3s", "-o", file)
	stacks := sleepsOf(t, file)[sleeper.PID()]
	if len(stacks) != 1 {
		t.Errorf("it is blocked in one stack, and has %d: %q", len(stacks), slices.Sorted(maps.Keys(stacks)))
	}
	for stack := range stacks {
		if !want.MatchString(stack) {
			t.Errorf("it is blocked in %s", stack)
		}
	}
}

func total(stacks map[string]int) (sum int) {
	for _, n := range stacks {
		sum += n
	}
	return sum
}

// checkChains compares the sleeps of a process with those that it made.
func checkChains(t *testing.T, pid int, stacks map[string]int, times int) {
	t.Helper()
	for name, chain := range chainsOf {
		n := 0
		for stack := range maps.Keys(stacks) {
			if chain.MatchString(stack) {
				n += stacks[stack]
				delete(stacks, stack)
			}
		}
		// A thread that is preempted before it sleeps may be back after its time, and does not sleep.
		if n > times || n < times*95/100 {
			t.Errorf("process %d: through %s there are %d sleeps, want %d", pid, name, n, times)
		}
	}
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		if strings.Contains(stack, "nanosleep") {
			t.Errorf("process %d: %d sleeps in %s", pid, stacks[stack], stack)
		}
	}
}

// sleepsOf returns how often each process of chains slept in each user stack.
func sleepsOf(t *testing.T, file string) map[int]map[string]int {
	t.Helper()
	all := map[int]map[string]int{}
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--off-cpu", "--unit=samples", "--kernel-frames", file))) {
		line = strings.TrimSpace(line)
		weight := strings.LastIndexByte(line, ' ')
		root, stack, _ := strings.Cut(line[:weight], ";")
		pid, _ := strconv.Atoi(root[strings.LastIndexByte(root, '-')+1:]) // after the label, such as "chains 600"
		n, _ := strconv.Atoi(line[weight+1:])
		if !strings.HasPrefix(root, "chains") || strings.Contains(stack, "[runnable]") {
			continue
		}
		if all[pid] == nil {
			all[pid] = map[string]int{}
		}
		user, _, _ := strings.Cut(strings.TrimSuffix(stack, ";[idle]"), ";entry_SYSCALL")
		all[pid][user] += n
	}
	return all
}

// Functions of Go programs that have no frame do not hide their callers, and goroutines begin in runtime.goexit.
func TestStacksOfGoFunctionsWithoutFrame(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	program, file := filepath.Join(dir, "goleaf"), filepath.Join(dir, "go.wprof")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/goleaf").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	tools.Run(t, "wprof-record", "--unwind=tables", "--unwind-cache=no", "-Stimer=1khz", "-o", file, "--", program)
	const want = ";runtime.goexit.abi0;runtime.main;main.main;main.caller;main.leaf"
	right, all := 0, 0
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--folded", "--unit=samples", file))) {
		stack, count, _ := strings.Cut(line, " ")
		if stack, isLeaf := strings.CutSuffix(strings.TrimSuffix(stack, "_[c]"), ";main.leaf"); isLeaf {
			n, _ := strconv.Atoi(strings.TrimSpace(count))
			all += n
			if strings.HasSuffix(stack+";main.leaf", want) {
				right += n
			} else {
				t.Errorf("%d samples in %s;main.leaf", n, stack)
			}
		}
	}
	if right < 100 {
		t.Errorf("%d of %d samples are in main.leaf below main.caller, want at least 100", right, all)
	}
}

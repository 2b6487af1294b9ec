//go:build linux

package e2e

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is known about the threads of testdata/blockers.c without the recorder: what they print, the chains of functions
// that they block in, and what /proc shows of them while they are blocked.

// blockedThreads is what the workload has printed.
type blockedThreads struct {
	tids   map[string]int32 // by name
	blocks map[int32]int64  // nvcsw while it did its work
	ready  chan struct{}    // closed when tids is whole
}

func newBlockedThreads() *blockedThreads {
	return &blockedThreads{tids: map[string]int32{}, blocks: map[int32]int64{}, ready: make(chan struct{})}
}

// listen reads the workload's output to its end.
func (b *blockedThreads) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var tid int32
		var name string
		var n int64
		switch {
		case lines.Text() == "ready":
			close(b.ready)
		case scanned(lines.Text(), "thread %d %s", &tid, &name):
			b.tids[name] = tid
		case scanned(lines.Text(), "blocks %d %d", &tid, &n):
			b.blocks[tid] = n
		}
	}
}

func scanned(line, form string, into ...any) bool {
	n, err := fmt.Sscanf(line, form, into...)
	return err == nil && n == len(into)
}

// chains are the ways in which a thread of the workload may block: the first is what it is there for.
var chains = map[string][]string{
	"nanosleep": {"nanosleep"},
	"pipe":      {"pipe"},
	"write":     {"nanosleep", "write"},
	"futex":     {"futex"},
	"wake":      {"nanosleep", "wake"},
	"fault":     {"fault", "drop"},
	"fsync":     {"fsync", "dirty"},
}

// chain is the whole user stack of a thread of the workload that is in inner_WAY, outermost first.
func chain(work, way string) []string {
	return []string{"clone", "thread", work, "outer_" + way, "middle_" + way, "inner_" + way}
}

// procStacks are the kernel stacks that /proc has shown of threads while they were blocked, outermost first: functions
// with the distance of the return address from their beginning, as the kernel prints it, joined by spaces.
type procStacks struct {
	mu   sync.Mutex
	seen map[int32]map[string]int
}

// watch looks at the threads of a process until done is closed.
func (p *procStacks) watch(tids []int32, done <-chan struct{}) {
	for {
		for _, tid := range tids {
			if stack, ok := blockedStack(tid); ok {
				p.add(tid, stack)
			}
		}
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func (p *procStacks) add(tid int32, stack string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[tid] == nil {
		p.seen[tid] = map[string]int{}
	}
	p.seen[tid][stack]++
}

// blockedStack reads the kernel stack of a thread that is blocked, and was so all the time that it took to read it.
// Of a thread that runs meanwhile /proc shows pieces.
func blockedStack(tid int32) (stack string, ok bool) {
	before, blocked := timesBlocked(tid)
	if !blocked {
		return "", false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stack", tid))
	if err != nil {
		return "", false
	}
	if after, blocked := timesBlocked(tid); !blocked || after != before {
		return "", false
	}
	var frames []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // "[<0>] function+0x12/0x345 [module]"
		place, _, slash := strings.Cut(f[1], "/")
		if !slash {
			return "", false
		}
		frames = append(frames, place)
	}
	slices.Reverse(frames)
	return strings.Join(frames, " "), len(frames) > 0
}

// timesBlocked is how often a thread has left a CPU of itself, and whether it is off it now.
func timesBlocked(tid int32) (n int64, now bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch f[0] {
		case "State:":
			now = f[1] == "S" || f[1] == "D"
		case "voluntary_ctxt_switches:":
			n, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return n, now
}

// schedulerText is where the kernel keeps the functions that a thread waits in; /proc leaves them out of its stacks
// (in_sched_functions).
func schedulerText(t *testing.T, k *kernelSymbols) (from, to uint64) {
	t.Helper()
	for address, names := range k.names {
		if slices.Contains(names, "__sched_text_start") {
			from = address
		}
		if slices.Contains(names, "__sched_text_end") {
			to = address
		}
	}
	if from == 0 || to <= from {
		t.Fatalf("kallsyms has the scheduler's text from %#x to %#x", from, to)
	}
	return from, to
}

// programSymbols are the functions of a program that is linked at a fixed address.
type programSymbols struct {
	loads     []*elf.Prog
	functions []elf.Symbol
}

func readProgram(t *testing.T, path string) *programSymbols {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &programSymbols{loads: f.Progs}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			p.functions = append(p.functions, s)
		}
	}
	return p
}

// at are the names of the function that holds an offset of the file.
func (p *programSymbols) at(offset uint64) (names []string) {
	for _, load := range p.loads {
		if load.Type != elf.PT_LOAD || offset < load.Off || offset >= load.Off+load.Filesz {
			continue
		}
		address := load.Vaddr + offset - load.Off
		for _, s := range p.functions {
			if address >= s.Value && address < s.Value+s.Size {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

//go:build linux

package e2e

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
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

// waitsOf are the waits of each thread of the workload: the first is the one that it is there for.
var waitsOf = map[string][]string{
	"nanosleep": {"nanosleep"},
	"pipe":      {"pipe"},
	"write":     {"nanosleep", "write"},
	"futex":     {"futex"},
	"wake":      {"nanosleep", "wake"},
	"fault":     {"fault", "drop"},
	"fsync":     {"fsync", "dirty"},
}

// chain is the whole user stack of a thread of the workload that is in inner_WAIT, outermost first.
func chain(work, wait string) []string {
	return []string{"clone", "thread", work, "outer_" + wait, "middle_" + wait, "inner_" + wait}
}

// procStacks are the stacks that /proc has shown of threads while they were blocked, and how often: the address in the
// program, and the kernel's functions, outermost first, with the distance of the return address from their beginning,
// as the kernel prints it; joined by spaces.
type procStacks map[int32]map[string]int

// procFiles are the files of /proc about a thread. They stay open, because many blocks are shorter than an open(2) takes.
type procFiles struct {
	tid                              int32
	schedstat, wchan, stack, syscall *os.File
}

func openProc(tid int32) (f *procFiles, err error) {
	f = &procFiles{tid: tid}
	for name, file := range map[string]**os.File{"schedstat": &f.schedstat, "wchan": &f.wchan, "stack": &f.stack, "syscall": &f.syscall} {
		if *file, err = os.Open(fmt.Sprintf("/proc/%d/%s", tid, name)); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

func (f *procFiles) close() {
	for _, file := range []*os.File{f.schedstat, f.wchan, f.stack, f.syscall} {
		_ = file.Close()
	}
}

// watch looks at threads until done is closed, and returns the longest time between two readings of one.
func (p procStacks) watch(tids []int32, done <-chan struct{}) (pause time.Duration, err error) {
	var all []*procFiles
	for _, tid := range tids {
		f, err := openProc(tid)
		if err != nil {
			return 0, err
		}
		defer f.close()
		all = append(all, f)
		p[tid] = map[string]int{}
	}
	looked := time.Now()
	for {
		for _, f := range all {
			if stack, ok := f.blocked(); ok {
				p[f.tid][stack]++
			}
		}
		select {
		case <-done:
			return pause, nil
		case <-time.After(300 * time.Microsecond):
		}
		now := time.Now()
		pause, looked = max(pause, now.Sub(looked)), now
	}
}

// blocked reads the stack of a thread that was blocked at some moment, and has not run from before that until all was
// read. Of a thread that runs meanwhile /proc shows pieces.
func (f *procFiles) blocked() (stack string, ok bool) {
	buf := make([]byte, 8192)
	before := contents(f.schedstat, buf)
	wchan := contents(f.wchan, buf) // "0" for a thread that is running or runnable
	place := strings.Fields(contents(f.syscall, buf))
	text := contents(f.stack, buf)
	if wchan == "" || wchan == "0" || len(place) < 3 || before == "" || contents(f.schedstat, buf) != before {
		return "", false
	}
	var frames []string
	for line := range strings.Lines(text) {
		w := strings.Fields(line) // "[<0>] function+0x12/0x345 [module]"
		where, _, slash := strings.Cut(w[1], "/")
		if !slash {
			return "", false
		}
		frames = append(frames, where)
	}
	frames = append(frames, place[len(place)-1])
	slices.Reverse(frames)
	return strings.Join(frames, " "), len(frames) > 1
}

// contents is what a file holds, as far as it fits into buf; "" if it cannot be read.
func contents(f *os.File, buf []byte) string {
	n, err := f.ReadAt(buf, 0)
	if n == 0 || err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(buf[:n])
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

// at is the address of an offset of the file, and the names of the function that holds it.
func (p *programSymbols) at(offset uint64) (address uint64, names []string) {
	for _, load := range p.loads {
		if load.Type == elf.PT_LOAD && offset >= load.Off && offset < load.Off+load.Filesz {
			address = load.Vaddr + offset - load.Off
		}
	}
	for _, s := range p.functions {
		if address >= s.Value && address < s.Value+s.Size {
			names = append(names, s.Name)
		}
	}
	return address, names
}

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

const (
	hotPrograms = 100
	hotWithout  = 25 // of them have no build-id
)

// hotOriginals are programs that spin in hot(), each with a layout and, but for some, a build-id of its own.
type hotOriginals struct {
	dir     string
	symbols [hotPrograms]map[string][2]uint64 // as nm prints them: address and size by name
}

var (
	hotOnce sync.Once
	hot     hotOriginals
)

func hotName(i int) string { return fmt.Sprintf("hot-%03d", i) }

// theHotPrograms builds them once for all tests.
func theHotPrograms(t *testing.T) *hotOriginals {
	t.Helper()
	tools.NeedPrivilege(t)
	hotOnce.Do(func() {
		dir := filepath.Join(tools.Folder(), "hot")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		assembly := filepath.Join(dir, "hot.s")
		if out, err := exec.Command("gcc", "-O1", "-DPAD=PAD", "-S", "-o", assembly, "testdata/hot.c").CombinedOutput(); err != nil {
			t.Fatalf("compile hot.c: %v: %s", err, out)
		}
		var group sync.WaitGroup
		next := make(chan int)
		errs := make([]error, hotPrograms)
		for range runtime.NumCPU() {
			group.Go(func() {
				for i := range next {
					errs[i] = buildHot(dir, assembly, i)
				}
			})
		}
		for i := range hotPrograms {
			next <- i
		}
		close(next)
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		hot.dir = dir
	})
	if hot.dir == "" {
		t.Fatal("the programs that this test runs could not be built")
	}
	return &hot
}

// buildHot assembles and links one program at a fixed address, so that a sample can be placed even if nothing is known of the file.
func buildHot(dir, assembly string, i int) error {
	id := "-Wl,--build-id=none"
	if i >= hotWithout {
		id = fmt.Sprintf("-Wl,--build-id=0x%040x", 0xabcd0000+i)
	}
	path := filepath.Join(dir, hotName(i))
	if out, err := exec.Command("gcc", "-no-pie", fmt.Sprintf("-Wa,--defsym,PAD=%d", i), id, "-o", path, assembly).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", path, err, out)
	}
	out, err := exec.Command("nm", "-S", path).Output()
	if err != nil {
		return fmt.Errorf("nm %s: %w", path, err)
	}
	hot.symbols[i] = map[string][2]uint64{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 || !strings.EqualFold(f[2], "t") {
			continue
		}
		address, _ := strconv.ParseUint(f[0], 16, 64)
		size, _ := strconv.ParseUint(f[1], 16, 64)
		hot.symbols[i][f[3]] = [2]uint64{address, size}
	}
	return nil
}

// nameAt returns the name that nm has for an address of a program; "" for none.
func (h *hotOriginals) nameAt(i int, address uint64) string {
	for name, at := range h.symbols[i] {
		if address >= at[0] && address < at[0]+at[1] {
			return name
		}
	}
	return ""
}

// fixedBase is where the linker puts a program that is not position-independent (x86-64 and arm64 alike, GNU ld).
const fixedBase = 0x400000

// hotSample is a sample within the text of one of the programs.
type hotSample struct {
	program int
	address uint64
	name    string // as the capture names it
	module  string
}

// samples are those of a capture whose innermost user frame lies in the text of a program.
func (h *hotOriginals) samples(t *testing.T, capture string) []hotSample {
	t.Helper()
	var all []hotSample
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		if s, ok := h.sample(r, e); ok {
			all = append(all, s)
		}
	})
	return all
}

func (h *hotOriginals) sample(r *format.Reader, e *format.Event) (hotSample, bool) {
	task, stack := r.Task(e.Task), r.Stack(e.Sample().Stack())
	if task == nil || stack == nil {
		return hotSample{}, false
	}
	var program int
	if _, err := fmt.Sscanf(string(task.Comm), "hot-%03d", &program); err != nil || program >= hotPrograms {
		return hotSample{}, false
	}
	user := stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)]
	if len(user) == 0 {
		return hotSample{}, false
	}
	frame := r.Frame(user[len(user)-1])
	s := hotSample{program: program, address: frame.Offset}
	if module := r.Module(frame.Module); module != nil {
		s.module = string(module.Path)
		if module.Kind != uint32(format.ModuleKind_MODULE_FILE) || filepath.Base(s.module) != hotName(program) {
			return hotSample{}, false
		}
		s.address += fixedBase
	}
	if len(frame.Lines) > 0 {
		s.name = string(frame.Lines[0].Function)
	}
	return s, h.nameAt(program, s.address) != ""
}

// check compares the names of a capture with nm.
func (h *hotOriginals) check(t *testing.T, capture string) {
	t.Helper()
	samples := h.samples(t, capture)
	named := 0
	for _, s := range samples {
		want := h.nameAt(s.program, s.address)
		switch s.name {
		case want:
			named++
		case "":
			t.Logf("%s: %#x in %q has no name, nm says %s", hotName(s.program), s.address, s.module, want)
		default:
			t.Errorf("%s: %#x is called %s, nm says %s", hotName(s.program), s.address, s.name, want)
		}
	}
	if len(samples) < 200 {
		t.Fatalf("only %d samples lie in the text of the programs", len(samples))
	}
	if share := float64(named) / float64(len(samples)); share < 0.99 {
		t.Errorf("%d of %d samples have a name (%.2f%%)", named, len(samples), 100*share)
	}
	t.Logf("%d of %d samples have the name that nm gives them", named, len(samples))
}

// runHot runs each program once from a copy that is removed when it has ended.
func (h *hotOriginals) runHot(t *testing.T) {
	dir := t.TempDir()
	for i := range hotPrograms {
		path := filepath.Join(dir, hotName(i))
		if err := copyFile(filepath.Join(h.dir, hotName(i)), path); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", path, err, out)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func TestProgramsThatAreGoneHaveNames(t *testing.T) {
	h := theHotPrograms(t)
	h.check(t, tools.Record(t, filepath.Join(t.TempDir(), "gone.wprof"), []string{"-Stimer=1khz"}, func() { h.runHot(t) }))
}

func TestProgramsThatAreGoneHaveNamesOnABusyMachine(t *testing.T) {
	h := theHotPrograms(t)
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	h.check(t, tools.Record(t, filepath.Join(t.TempDir(), "busy.wprof"), []string{"-Stimer=1khz"}, func() { h.runHot(t) }))
}

// TestProgramsOfAnotherMountNamespaceHaveNames runs them from a file system that no other process sees.
func TestProgramsOfAnotherMountNamespaceHaveNames(t *testing.T) {
	h := theHotPrograms(t)
	dir := t.TempDir()
	script := `mount -t tmpfs none "$1" && for f in "$2"/hot-*; do n=${f##*/}; cp "$f" "$1/$n"; "$1/$n"; rm "$1/$n"; done`
	capture := tools.Record(t, filepath.Join(t.TempDir(), "namespace.wprof"), []string{"-Stimer=1khz"}, func() {
		if out, err := exec.Command("unshare", "-m", "sh", "-c", script, "sh", dir, h.dir).CombinedOutput(); err != nil {
			t.Errorf("run the programs in a mount namespace: %v: %s", err, out)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("the file system of the namespace is seen from here: %v, %v", left, err)
	}
	h.check(t, capture)
}

// TestKernelNamesAreThoseOfKallsyms compares every kernel frame of a capture with the kernel's own list.
func TestKernelNamesAreThoseOfKallsyms(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := tools.Record(t, filepath.Join(t.TempDir(), "kernel.wprof"), []string{"-Stimer=1khz"}, func() {
		_ = exec.Command("dd", "if=/dev/urandom", "of=/dev/null", "bs=1M", "count=300").Run()
	})
	symbols := kernelText(t)
	seen := map[uint32]bool{}
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		stack := r.Stack(e.Sample().Stack())
		if stack == nil {
			return
		}
		for _, id := range stack.Frames[len(stack.Frames)-int(stack.KernelFrames):] {
			frame := r.Frame(id)
			module := r.Module(frame.Module)
			if seen[id] || module == nil || module.Kind != uint32(format.ModuleKind_MODULE_KERNEL) {
				continue
			}
			seen[id] = true
			address := module.Base + frame.Offset
			if frame.Caller {
				address--
			}
			if len(frame.Lines) == 0 && symbols.isTransient(address) {
				continue
			}
			if len(frame.Lines) == 0 {
				t.Errorf("%#x has no name, kallsyms has %v", address, symbols.at(address))
			} else if name := string(frame.Lines[0].Function); !slices.Contains(symbols.at(address), name) {
				t.Errorf("%#x is called %s, kallsyms has %v", address, name, symbols.at(address))
			}
		}
	})
	if len(seen) < 20 {
		t.Errorf("only %d kernel frames were seen", len(seen))
	}
}

// isTransient reports whether an address may be that of a kernel program that somebody has loaded since the recording began,
// and perhaps taken out again: such programs stand behind the kernel's text and modules.
func (k *kernelSymbols) isTransient(address uint64) bool {
	names := k.at(address)
	return len(names) == 0 || strings.HasPrefix(names[0], "bpf_prog_") || names[0] == "_einittext"
}

// kernelSymbols are the functions of /proc/kallsyms by address.
type kernelSymbols struct {
	starts []uint64
	names  map[uint64][]string
}

// at are the names of the function that holds an address: several stand at one place.
func (k *kernelSymbols) at(address uint64) []string {
	i, found := slices.BinarySearch(k.starts, address)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return k.names[k.starts[i]]
}

func kernelText(t *testing.T) *kernelSymbols {
	t.Helper()
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	k := &kernelSymbols{names: map[uint64][]string{}}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 3 || !strings.ContainsAny(f[1], "tTwW") { // a fourth word names the module
			continue
		}
		address, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil || address == 0 {
			t.Fatalf("kallsyms has the line %q", lines.Text())
		}
		if k.names[address] == nil {
			k.starts = append(k.starts, address)
		}
		k.names[address] = append(k.names[address], f[2])
	}
	slices.Sort(k.starts)
	return k
}

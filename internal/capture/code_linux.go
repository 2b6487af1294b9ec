package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// code holds what a recording of stacks needs to name functions: which code is mapped where, its files, and the
// kernel's symbols as they are when it begins.
type code struct {
	watcher  *sideband.Watcher
	modules  moduleWatch
	packed   chan packedSymbols
	gathered gatheredCode
	procs    int // GOMAXPROCS as it was
}

// gatheredCode is what the spool gets before the window opens.
type gatheredCode struct {
	kallsyms, modules, buildID []byte // nil: the kernel has none
	functions                  []byte // records of the side-band
}

type packedSymbols struct {
	kallsyms []byte
	images   *moduleFunctions
	err      error
}

// spareThreads is added to GOMAXPROCS while the window is open, so that the thread that drains the rings and those that open
// files never wait for a P of the Go runtime, in particular not while files are copied.
const spareThreads = 3

// beginCode reads the kernel's symbols while the kernel programs are loaded.
func beginCode() *code {
	c := &code{packed: make(chan packedSymbols, 1)}
	go func() {
		var p packedSymbols
		p.images = newImages()
		p.kallsyms, p.err = packKallsyms(p.images)
		c.packed <- p
	}()
	return c
}

// packKallsyms also writes the text to a Writer.
func packKallsyms(to io.Writer) ([]byte, error) {
	text, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	defer text.Close()
	return spool.PackKallsyms(io.TeeReader(text, to))
}

// watch begins to watch mappings; files is the number of other files that are open. Throttling of samples is
// reported in the same perf buffers.
func (c *code) watch(tracer *bpf.Tracer, files int) (err error) {
	c.procs = runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareThreads)
	c.watcher, err = sideband.Open(sideband.Config{
		Spare: files, OnThread: func() { raisePriority(openPriority) }, OnPrograms: tracer.ReportNewPrograms, MayRecord: tracer.MayRecord,
		Only: tracer.OnlyProcesses(),
	})
	if err != nil {
		return err
	}
	return tracer.OnSampleEvent(func(event bpf.SampleEvent) error {
		fd, ok := c.watcher.OutputFD(event.CPU)
		if !ok {
			return nil
		}
		if err := unix.IoctlSetInt(event.FD, unix.PERF_EVENT_IOC_SET_OUTPUT, fd); err != nil {
			return fmt.Errorf("watch for throttled sampling: %w", err)
		}
		return nil
	})
}

// gather reads what exists already: symbols and code of the kernel, mappings, and if commands is set command lines.
func (c *code) gather(tracer *bpf.Tracer, commands bool) error {
	p := <-c.packed
	if p.err != nil {
		return p.err
	}
	g := gatheredCode{kallsyms: p.kallsyms, buildID: kernelBuildID("/sys/kernel/notes")}
	// A kernel without modules has no such file.
	if modules, err := os.ReadFile("/proc/modules"); err == nil {
		c.modules.begin(modules)
		g.modules = modules
	}
	var err error
	if g.functions, err = loadedFunctions(tracer, p.images); err != nil { // before Start, which may use up the limit of open files
		return err
	}
	c.gathered = g
	return c.watcher.Start(commands)
}

// write writes what was gathered to the spool, and returns what is mapped, as the side-band has it.
func (c *code) write(w *spool.Writer) (mapped []byte, err error) {
	g := c.gathered
	c.gathered = gatheredCode{}
	if err := w.Kallsyms(g.kallsyms); err != nil {
		return nil, err
	}
	if g.modules != nil {
		if err := w.Modules(g.modules); err != nil {
			return nil, err
		}
	}
	if g.buildID != nil {
		if err := w.KernelBuildID(g.buildID); err != nil {
			return nil, err
		}
	}
	return c.watcher.Drain(g.functions), nil
}

// kernelBuildID returns the build-id in the kernel's notes (kernel/ksysfs.c); nil: it has none.
func kernelBuildID(path string) []byte {
	notes, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return symbol.BuildIDIn(notes, binary.NativeEndian, 4)
}

// modulesChanged reports kernel modules that were loaded or unloaded.
func (c *code) modulesChanged() {
	c.watcher.Report(c.modules.changed("/proc/modules", "/proc/kallsyms"))
}

// loadedFunctions returns the functions of BPF programs that were loaded before the watcher began, the recorder's own and all others,
// and before them the code that the kernel had generated for BPF programs.
func loadedFunctions(tracer *bpf.Tracer, images *moduleFunctions) (records []byte, err error) {
	now := proc.Monotonic() // perf reports later changes
	records = images.appendImages(records, now)
	functions, err := tracer.Functions()
	for _, f := range functions {
		records = sideband.Append(records, &sideband.Record{
			Kind: sideband.KindFunction, Time: now, Start: f.Start, Length: uint64(f.Length), Path: []byte(f.Name),
		})
	}
	return records, err
}

// end stops watching; the files stay open until Close.
func (c *code) end() {
	if c.watcher != nil {
		_ = c.watcher.Close()
	}
	if c.procs > 0 {
		runtime.GOMAXPROCS(c.procs)
		c.procs = 0
	}
}

// Close closes the files.
func (c *code) Close() {
	c.end()
	if c.watcher != nil {
		c.watcher.Files().Close()
	}
}

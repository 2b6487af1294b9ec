package capture

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"wprof/internal/proc"
	"wprof/internal/sideband"
	"wprof/internal/symbol"
)

// moduleWatch keeps the list of kernel modules. The kernel's symbols are read when a recording begins; those of modules that
// are loaded later are read then.
type moduleWatch struct {
	mu    sync.Mutex
	known map[string]symbol.KernelModule
	since int64 // when the list was read, CLOCK_MONOTONIC ns
}

// begin stores /proc/modules as it is when the recording begins.
func (w *moduleWatch) begin(text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known, w.since = modulesByName(text), proc.Monotonic()
}

// hiddenAddress is in /proc/modules if kernel.kptr_restrict was raised.
var hiddenAddress = []byte(" 0x0000000000000000")

// changed returns side-band records of the modules that were loaded or unloaded since the last call, from two files of /proc.
func (w *moduleWatch) changed(modules, kallsyms string) (records []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := proc.Monotonic()
	text, err := os.ReadFile(modules)
	if err != nil || bytes.Contains(text, hiddenAddress) {
		return nil // modules may be loaded although they are not listed
	}
	before, since := w.known, w.since
	w.known, w.since = modulesByName(text), at
	for name, m := range before {
		if w.known[name] != m {
			records = sideband.Append(records, &sideband.Record{
				Kind: sideband.KindFunctionGone, Time: at, Start: m.Base, Length: m.End - m.Base, Data: []byte(name),
			})
			since = at + 1 // another one may be at its address now
		}
	}
	came := make(map[string]symbol.KernelModule)
	for name, m := range w.known {
		if before[name] != m {
			came[name] = m
		}
	}
	if len(came) == 0 {
		return records
	}
	functions := moduleFunctions{wanted: came}
	functions.read(kallsyms)
	return functions.append(records, since)
}

func modulesByName(text []byte) map[string]symbol.KernelModule {
	all := make(map[string]symbol.KernelModule)
	list, _ := symbol.ParseModules(bytes.NewReader(text)) // a text in memory is read without errors
	for _, m := range list {
		all[m.Name] = m
	}
	return all
}

// moduleFunctions is a Writer that collects the functions of some modules from /proc/kallsyms.
type moduleFunctions struct {
	wanted map[string]symbol.KernelModule
	list   []moduleFunction
	rest   []byte // of an incomplete line
}

type moduleFunction struct {
	from         uint64
	name, module string
}

const (
	// maxModuleFunctions is more than the number of functions of the largest modules.
	maxModuleFunctions = 1 << 17
	// imageBytes is the largest size of a trampoline, whose end is not listed.
	imageBytes = 4096
)

func (f *moduleFunctions) read(path string) {
	text, err := os.Open(path)
	if err != nil {
		return
	}
	defer text.Close()
	_, _ = io.Copy(f, text)
}

// Write implements io.Writer.
func (f *moduleFunctions) Write(b []byte) (int, error) {
	n := len(b)
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			f.rest = append(f.rest, b...)
			return n, nil
		}
		line := b[:end]
		if len(f.rest) > 0 {
			f.rest = append(f.rest, line...)
			line = f.rest
		}
		f.line(line)
		f.rest, b = f.rest[:0], b[end+1:]
	}
}

// line parses "ADDRESS TYPE NAME\t[MODULE]". Most lines have no module.
func (f *moduleFunctions) line(line []byte) {
	line, inModule := bytes.CutSuffix(line, []byte("]"))
	at := bytes.LastIndexByte(line, '[')
	if !inModule || at < 0 {
		return
	}
	module := string(line[at+1:])
	words := bytes.Fields(line[:at])
	if _, ok := f.wanted[module]; !ok || len(words) != 3 || len(f.list) >= maxModuleFunctions || !strings.ContainsAny(string(words[1]), "tTwW") {
		return
	}
	if from, err := strconv.ParseUint(string(words[0]), 16, 64); err == nil && from != 0 {
		f.list = append(f.list, moduleFunction{from, string(words[2]), module})
	}
}

// append appends the functions as side-band records; since is when they were loaded.
func (f *moduleFunctions) append(records []byte, since int64) []byte {
	f.each(func(one *moduleFunction, to uint64) {
		m := f.wanted[one.module]
		if one.from < m.Base || one.from >= m.End {
			return
		}
		records = sideband.Append(records, &sideband.Record{
			Kind: sideband.KindFunction, Time: since, Start: one.from, Length: min(to, m.End) - one.from, Offset: one.from - m.Base,
			Path: []byte(one.name), Data: []byte(one.module),
		})
	})
	return records
}

// each visits the functions by address; to is where the next one begins. Of several names of one address the first counts,
// as in the kernel's own messages.
func (f *moduleFunctions) each(visit func(one *moduleFunction, to uint64)) {
	slices.SortStableFunc(f.list, func(a, b moduleFunction) int { return cmp.Compare(a.from, b.from) })
	f.list = slices.CompactFunc(f.list, func(a, b moduleFunction) bool { return a.from == b.from })
	for i := range f.list {
		to := uint64(math.MaxUint64)
		if i+1 < len(f.list) {
			to = f.list[i+1].from
		}
		visit(&f.list[i], to)
	}
}

// newImages returns a collector of the code that the kernel has generated for BPF programs, which /proc/kallsyms lists as a module.
func newImages() *moduleFunctions {
	return &moduleFunctions{wanted: map[string]symbol.KernelModule{"bpf": {}}}
}

// appendImages appends trampolines and dispatchers, but not programs: bpf(2) has more about those.
func (f *moduleFunctions) appendImages(records []byte, since int64) []byte {
	f.each(func(one *moduleFunction, to uint64) {
		if strings.HasPrefix(one.name, "bpf_prog_") {
			return
		}
		records = sideband.Append(records, &sideband.Record{
			Kind: sideband.KindFunction, Time: since, Start: one.from, Length: min(to-one.from, imageBytes), Path: []byte(one.name),
		})
	})
	return records
}

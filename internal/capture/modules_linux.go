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

// moduleWatch knows which kernel modules there are. The kernel's symbols are read when a recording begins; of modules that are
// loaded later it reads them then.
type moduleWatch struct {
	mu    sync.Mutex
	known map[string]symbol.KernelModule
	since int64 // when they were known, CLOCK_MONOTONIC ns
}

// begin takes a text of /proc/modules for what was there in the beginning.
func (w *moduleWatch) begin(text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known, w.since = modulesByName(bytes.NewReader(text)), proc.Monotonic()
}

// changed returns side-band records of what has changed since the last time, as the two files of /proc tell it.
func (w *moduleWatch) changed(modules, kallsyms string) (records []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := proc.Monotonic()
	text, err := os.Open(modules)
	if err != nil {
		return nil
	}
	defer text.Close()
	before, since := w.known, w.since
	w.known, w.since = modulesByName(text), at
	for name, m := range before {
		if w.known[name] != m {
			records = sideband.Append(records, &sideband.Record{
				Kind: sideband.KindFunctionGone, Time: at, Start: m.Base, Length: m.End - m.Base, Data: []byte(name),
			})
			since = at + 1 // others may stand there now
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

func modulesByName(text io.Reader) map[string]symbol.KernelModule {
	all := make(map[string]symbol.KernelModule)
	list, _ := symbol.ParseModules(text) // what could be read of it
	for _, m := range list {
		all[m.Name] = m
	}
	return all
}

// moduleFunctions gathers the functions of some modules from a text of /proc/kallsyms that is written to it.
type moduleFunctions struct {
	wanted map[string]symbol.KernelModule
	list   []moduleFunction
	rest   []byte // of a line that goes on
}

type moduleFunction struct {
	from         uint64
	name, module string
}

const (
	// maxModuleFunctions is more than the largest modules have.
	maxModuleFunctions = 1 << 17
	// imageBytes is the most that a trampoline takes, whose end no list tells.
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

// line takes "ADDRESS TYPE NAME\t[MODULE]". Most lines are of no module.
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

// append appends the functions as side-band records, which are there since a time.
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

// each visits the functions in the order of their addresses; to is where the next one begins. Of several names of one
// address the first is meant, as when the kernel writes an address itself.
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

// newImages gathers what the kernel has generated for BPF programs, which its list calls a module.
func newImages() *moduleFunctions {
	return &moduleFunctions{wanted: map[string]symbol.KernelModule{"bpf": {}}}
}

// appendImages appends trampolines and dispatchers, but not the programs, of which the kernel says more elsewhere.
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

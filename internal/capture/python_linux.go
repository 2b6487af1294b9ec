package capture

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/printable"
	"wprof/internal/python"
)

// pythonFeature is the word of -f for Python's frames in stacks.
const pythonFeature = format.FeaturePyStacks

// maxPythonName is one less than bpf's room for a glob.
const maxPythonName = 31

// setPython reads what follows the feature: a process, or a glob on names of processes.
func (cfg *Config) setPython(which string, on bool) {
	cfg.Python, cfg.pythonSet = bpf.Python{On: on}, true
	if pid, err := strconv.ParseInt(which, 10, 32); err == nil && pid > 0 {
		cfg.Python.PID = int32(pid)
	} else {
		cfg.Python.Name = which
	}
}

// pythonWord is the feature as -f takes it.
func (cfg *Config) pythonWord() string {
	switch p := cfg.Python; {
	case p.PID != 0:
		return fmt.Sprintf("%s=%d", pythonFeature, p.PID)
	case p.Name != "":
		return pythonFeature + "=" + valid(p.Name)
	}
	return pythonFeature
}

func checkPython(which string) error {
	switch {
	case which == "":
		return cli.EmptyEntry(pythonFeature+"=", "write it as "+pythonFeature+"=PID or "+pythonFeature+"=NAME")
	case len(which) > maxPythonName:
		return fmt.Errorf("%s=%s: a name has %d bytes at most", pythonFeature, which, maxPythonName)
	}
	return nil
}

// checkPythonStacks leaves Python's frames out where the stacks that are taken cannot have them, and reports why if they were requested.
func (cfg *Config) checkPythonStacks(areTables bool) error {
	switch {
	case !cfg.Python.On || areTables:
		return nil
	case !cfg.pythonSet:
		cfg.Python.On = false
		return nil
	case !cfg.Stacks.Any() || !cfg.Stacks.User:
		return cli.Usagef("-f %s needs user stacks, which --no-stacks or --no-user-stacks leaves out", pythonFeature)
	}
	return cli.Usagef("-f %s needs --unwind=tables, which works on x86-64 only", pythonFeature)
}

// pythonFinder finds interpreters among the files whose unwind tables are made.
type pythonFinder struct {
	files  atomic.Int64 // that have a known interpreter
	counts bpf.PythonCounts

	mu      sync.Mutex
	unknown map[bpf.UnwindFile]unknownPython
	met     []unknownPython // those of unknown that are in stacks
}

// unknownPython is a file with an interpreter whose frames cannot be taken.
type unknownPython struct{ path, version string }

func (p *pythonFinder) note(w *wantedFile, unknown *python.UnknownError) {
	path, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.file.Fd()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unknown[w.id] = unknownPython{path, unknown.Version}
}

// sum keeps which of the unknown interpreters were in stacks: others belong to processes that were not recorded, or did nothing.
func (p *pythonFinder) sum(tables *bpf.UnwindTables) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for file, unknown := range p.unknown {
		if tables.IsUsed(file) {
			p.met = append(p.met, unknown)
		}
	}
	slices.SortFunc(p.met, func(a, b unknownPython) int { return cmp.Compare(a.path, b.path) })
}

// unknownPythons is a warning about interpreters in stacks whose frames could not be taken; "": there were none.
func (u *unwinder) unknownPythons() string {
	if u == nil || u.pythons == nil {
		return ""
	}
	return unknownText(u.pythons.met)
}

// unknownNamed is the number of files that a warning names.
const unknownNamed = 3

func unknownText(met []unknownPython) string {
	if len(met) == 0 {
		return ""
	}
	var named []string
	for _, one := range met[:min(len(met), unknownNamed)] {
		named = append(named, printable.Text(one.path)+" ("+cmp.Or(one.version, "of an unknown version")+")")
	}
	if more := len(met) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return "functions of Python are missing in stacks of interpreters other than CPython 3.8 to 3.15: " + strings.Join(named, ", ")
}

// preload adds the interpreters of processes that run: they are not kept with the tables of earlier recordings.
func (p *pythonFinder) preload(u *unwinder) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if u.stopped.Load() {
			return
		}
		pid, _ := strconv.ParseInt(filepath.Base(folder), 10, 32)
		for _, m := range executableMappings(int32(pid), "python") {
			u.add(mapFile(m), nil, 0)
		}
	}
}

func (p *pythonFinder) describe() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("Python: %s; %d files with an interpreter, %d with one that is not known", p.counts, p.files.Load(), len(p.unknown))
}

package capture

import (
	"cmp"
	"errors"
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
	"wprof/internal/ruby"
)

// Words of -f for frames of interpreters in stacks.
const (
	pythonFeature = format.FeaturePyStacks
	rubyFeature   = format.FeatureRubyStacks
)

// interpreterFeatures returns those words, with the language.
func interpreterFeatures() map[string]string {
	return map[string]string{pythonFeature: "Python", rubyFeature: "Ruby"}
}

// maxPythonName is one less than bpf's room for a glob.
const maxPythonName = 31

// interpreted is the processes whose functions of a language are taken in stacks.
type interpreted struct {
	bpf.Python
	isSet bool // by -f
}

// setInterpreted reads what follows the feature: a process, or a glob on names of processes.
func (cfg *Config) setInterpreted(feature, which string, on bool) {
	p := interpreted{bpf.Python{On: on}, true}
	if pid, err := strconv.ParseInt(which, 10, 32); err == nil && pid > 0 {
		p.PID = int32(pid)
	} else {
		p.Name = which
	}
	*cfg.interpretedBy(feature) = p
}

func (cfg *Config) interpretedBy(feature string) *interpreted {
	if feature == rubyFeature {
		return &cfg.Ruby
	}
	return &cfg.Python
}

// word is the feature as -f takes it.
func (p *interpreted) word(feature string) string {
	switch {
	case p.PID != 0:
		return fmt.Sprintf("%s=%d", feature, p.PID)
	case p.Name != "":
		return feature + "=" + valid(p.Name)
	}
	return feature
}

func checkInterpreted(feature string) func(which string) error {
	return func(which string) error {
		switch {
		case which == "":
			return cli.EmptyEntry(feature+"=", "write it as "+feature+"=PID or "+feature+"=NAME")
		case len(which) > maxPythonName:
			return fmt.Errorf("%s=%s: a name has %d bytes at most", feature, which, maxPythonName)
		}
		return nil
	}
}

// checkInterpretedStacks leaves frames of interpreters out where the stacks that are taken cannot have them, and reports why if they were requested.
func (cfg *Config) checkInterpretedStacks(areTables bool) error {
	for _, feature := range [...]string{pythonFeature, rubyFeature} {
		switch p := cfg.interpretedBy(feature); {
		case !p.On || areTables:
		case !p.isSet:
			p.On = false
		case !cfg.Stacks.Any() || !cfg.Stacks.User:
			return cli.Usagef("-f %s needs user stacks, which --no-stacks or --no-user-stacks leaves out", feature)
		default:
			return cli.Usagef("-f %s needs --unwind=tables, which works on x86-64 only", feature)
		}
	}
	return nil
}

// readInterpreter returns the interpreter in a file, or the one of which only the language and version are known.
func readInterpreter(file *os.File) (in bpf.Interpreter, unknown *unknownInterpreter) {
	var ofPython *python.UnknownError
	var ofRuby *ruby.UnknownError
	var failed error
	if in.Python, failed = python.Read(file); errors.As(failed, &ofPython) {
		return bpf.Interpreter{}, &unknownInterpreter{language: pythonFeature, version: ofPython.Version}
	}
	if errors.Is(failed, python.ErrNone) {
		in.Python, _ = python.ReadTasks(file)
	}
	if in.Python != nil {
		return in, nil
	}
	if in.Ruby, failed = ruby.Read(file); errors.As(failed, &ofRuby) {
		return bpf.Interpreter{}, &unknownInterpreter{language: rubyFeature, version: ofRuby.Version}
	}
	return in, nil
}

// pythonFinder finds interpreters among the files whose unwind tables are made.
type pythonFinder struct {
	python, ruby bool // whose frames are taken

	files  atomic.Int64 // that have a known interpreter
	counts bpf.PythonCounts

	mu      sync.Mutex
	unknown map[bpf.UnwindFile]unknownInterpreter
	met     []unknownInterpreter // those of unknown that are in stacks
}

// unknownInterpreter is a file with an interpreter whose frames cannot be taken.
type unknownInterpreter struct{ path, language, version string }

// selected returns what is to be done about a file with an interpreter: nothing if its frames are not taken.
func (p *pythonFinder) selected(in bpf.Interpreter, unknown *unknownInterpreter) (bpf.Interpreter, *unknownInterpreter) {
	isRuby := in.Ruby != nil || unknown != nil && unknown.language == rubyFeature
	if p == nil || isRuby && !p.ruby || !isRuby && !p.python {
		return bpf.Interpreter{}, nil
	}
	return in, unknown
}

func (p *pythonFinder) note(w *wantedFile, unknown *unknownInterpreter) {
	unknown.path, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.file.Fd()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unknown[w.id] = *unknown
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
	slices.SortFunc(p.met, func(a, b unknownInterpreter) int { return cmp.Compare(a.path, b.path) })
}

// unknownInterpreters are warnings about interpreters in stacks whose frames could not be taken; "": there were none of the language.
func (u *unwinder) unknownInterpreters() []string {
	if u == nil || u.pythons == nil {
		return nil
	}
	return []string{
		unknownText(u.pythons.met, pythonFeature, "functions of Python are missing in stacks of interpreters other than CPython 3.8 to 3.15: "),
		unknownText(u.pythons.met, rubyFeature, "methods of Ruby are missing in stacks of interpreters other than shared libraries of Ruby 3.1 and 3.3: "),
	}
}

// unknownNamed is the number of files that a warning names.
const unknownNamed = 3

func unknownText(met []unknownInterpreter, language, what string) string {
	var named []string
	for _, one := range met {
		if one.language == language {
			named = append(named, printable.Text(one.path)+" ("+cmp.Or(one.version, "of an unknown version")+")")
		}
	}
	if len(named) == 0 {
		return ""
	}
	if more := len(named) - unknownNamed; more > 0 {
		named = append(named[:unknownNamed], fmt.Sprintf("%d more", more))
	}
	return what + strings.Join(named, ", ")
}

// preload adds the interpreters of processes that run: they are not kept with the tables of earlier recordings.
func (p *pythonFinder) preload(u *unwinder) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if u.stopped.Load() {
			return
		}
		pid, _ := strconv.ParseInt(filepath.Base(folder), 10, 32)
		for _, word := range [...]string{"python", "ruby"} {
			for _, m := range executableMappings(int32(pid), word) {
				u.add(mapFile(m), nil, 0)
			}
		}
	}
}

func (p *pythonFinder) describe() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("interpreters: %s; %d files with an interpreter, %d with one that is not known", p.counts, p.files.Load(), len(p.unknown))
}

package capture

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
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
	files   atomic.Int64 // that have a known interpreter
	unknown atomic.Int64 // that have another one
	counts  bpf.PythonCounts
}

// count notes what came of reading a file's interpreter.
func (p *pythonFinder) count(err error) {
	switch {
	case err == nil:
		p.files.Add(1)
	case errors.Is(err, python.ErrUnknown):
		p.unknown.Add(1)
	}
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
	return fmt.Sprintf("Python: %s; %d files with an interpreter, %d with one that is not known", p.counts, p.files.Load(), p.unknown.Load())
}

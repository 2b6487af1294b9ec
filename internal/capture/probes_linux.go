package capture

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/kerneltype"
	"wprof/internal/probe"
	"wprof/internal/probeplan"
	"wprof/internal/proc"
	"wprof/internal/tracepoint"
	"wprof/internal/usercode"
)

// ProbeFlag is -U.
func ProbeFlag() cli.Flag {
	return cli.Flag{
		Name: "probe", Aliases: []string{"U"}, Kind: cli.List, Value: "DEFINITION", Check: checkProbe, Begins: probeBegins(),
		Usage: "Record a user-defined probe. A DEFINITION is PROBE:TARGET (PARAMETERS) | SETTINGS |, as in 'u:malloc (arg:0/name(size), path:libc.so.6)' " +
			"or 'tp:sched:sched_switch (arg:*) | if:prev_prio<100 |'; with ~~ between two probes it is a span. Probes: " + probeWords() +
			". Parameters: " + namesOf(probe.ParameterWords()) + ". Settings: " + namesOf(probe.SettingWords()) +
			". @FILE: one a line, # for comments. --list lists what can be probed, and utrace.md describes the language.",
	}
}

// probeWords returns the words of all kinds of probes.
func probeWords() string {
	var words []string
	for _, b := range probeBegins() {
		words = append(words, b.Word)
	}
	return strings.Join(words, ", ")
}

// namesOf returns the words of a table.
func namesOf(rows []probe.WordInfo) string {
	var words []string
	for _, row := range rows {
		words = append(words, row.Word)
	}
	return strings.Join(words, ", ")
}

// probeBegins returns how definitions begin, for completion. What --list lists of programs, it lists of that of the command.
func probeBegins() (all []cli.Beginning) {
	for _, row := range probe.Kinds() {
		listed := cli.OfMachine
		if row.User {
			listed = cli.OfCommand
		}
		all = append(all, cli.Beginning{Word: row.Word + ":", Text: row.Doc, Listed: listed})
	}
	return all
}

func checkProbe(value string) error {
	_, err := readProbes([]string{value})
	return err
}

// readProbes reads the values of -U. A definition that is there twice, as in a file and on the command line, counts once.
func readProbes(values []string) (all []*probe.Definition, err error) {
	known := make(map[string]bool)
	defer func() {
		all = slices.DeleteFunc(all, func(d *probe.Definition) bool {
			repeated := known[d.Text]
			known[d.Text] = true
			return repeated
		})
	}()
	for _, value := range values {
		name, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			d, err := probe.Parse(value)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
			continue
		}
		text, err := readProbeFile(name)
		if err != nil {
			return nil, err
		}
		found, err := probe.ParseFile(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// maxProbeFile bounds a file of definitions.
const maxProbeFile = 8 << 20

func readProbeFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the probes in %s: %w", proc.Quote(name), err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProbeFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the probes in %s: %w", proc.Quote(name), err)
	case len(text) > maxProbeFile:
		return nil, fmt.Errorf("%s has more than %d bytes", proc.Quote(name), maxProbeFile)
	}
	return text, nil
}

// takesStacks reports whether any probe takes stacks.
func takesStacks(all []*probe.Definition) bool {
	return slices.ContainsFunc(all, func(d *probe.Definition) bool {
		return d.Settings.By.Stack || slices.ContainsFunc(d.Legs, func(l probe.Leg) bool { return l.Stack })
	})
}

// planProbes finds what the definitions name.
func planProbes(cfg *Config) error {
	if len(cfg.Probes) == 0 {
		return nil
	}
	m := probeMachine{read: cfg.Kernel.Preloaded, files: make(map[string]*usercode.File)}
	if len(cfg.Command) > 0 {
		if path, err := lookUp(cfg.Command[0]); err == nil {
			m.command = path
		}
	}
	defer m.close()
	plan, err := probeplan.Make(&m, cfg.Probes, len(cfg.Kernel.Tracepoints))
	if err != nil {
		return cli.Usagef("--probe: %w", err)
	}
	cfg.ProbeTypes, cfg.Kernel.Probes, cfg.ProbeNotes = plan.Types, plan.Programs, plan.Notes
	return nil
}

// probeMachine is this machine for a plan.
type probeMachine struct {
	read    *bpf.Preloaded
	finder  *tracepointFinder // nil: not needed yet
	files   map[string]*usercode.File
	command string

	functions []string // of the kernel, that can be traced; nil: not read, or not known
}

func (m *probeMachine) close() {
	if m.finder != nil {
		m.finder.close()
	}
	for _, f := range m.files {
		_ = f.Close()
	}
}

func (m *probeMachine) Machine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

func (m *probeMachine) Types() (*btf.Spec, error) { return m.read.Types() }

func (m *probeMachine) HasKprobes() bool { return bpf.HasKprobes() }

func (m *probeMachine) Command() string { return m.command }

func (m *probeMachine) Tracepoint(category, name string) (*tracepoint.Tracepoint, error) {
	if err := m.tracepoints(); err != nil {
		return nil, err
	}
	full := category + ":" + name
	switch {
	case m.finder.fs == nil:
		return nil, fmt.Errorf("read tracefs, which describes the fields of tracepoints: %w; raw_tp:%s needs none", m.finder.noFS, name)
	case !slices.Contains(m.finder.events, full):
		return nil, &usercode.NotFound{What: "tracepoint", Name: full, Near: m.finder.near(category, name, true)}
	}
	return m.finder.describe(full)
}

func (m *probeMachine) RawTracepoint(name string) ([]kerneltype.Param, error) {
	params, found, err := m.read.RawArguments(name)
	if err != nil || found {
		return params, err
	}
	names, err := m.read.RawTracepoints()
	if err != nil {
		return nil, err
	}
	return nil, &usercode.NotFound{What: "raw tracepoint", Name: name, Near: cli.Nearest(name, names)}
}

func (m *probeMachine) KernelFunctions(pattern string) (all []probeplan.KernelFunction, err error) {
	if all, err = m.kernelFunctions(pattern); err != nil || len(all) > 0 {
		return all, err
	}
	if !strings.ContainsAny(pattern, "*?") {
		for _, name := range otherNames(pattern) {
			if all, err = m.kernelFunctions(name); err != nil || len(all) > 0 {
				return all, err
			}
		}
	}
	return nil, &usercode.NotFound{What: "traceable kernel function", Name: pattern, Near: cli.Nearest(pattern, m.kernelNames())}
}

// kernelFunctions returns the functions that the kernel's types describe and that can be traced.
func (m *probeMachine) kernelFunctions(pattern string) (all []probeplan.KernelFunction, err error) {
	found, err := m.read.Functions(pattern, maxKernelFunctions)
	if err != nil {
		return nil, err
	}
	traceable := m.traceable()
	for _, fn := range found {
		proto, ok := fn.Type.(*btf.FuncProto)
		if _, can := slices.BinarySearch(traceable, fn.Name); !ok || len(traceable) > 0 && !can {
			continue
		}
		one := probeplan.KernelFunction{Name: fn.Name}
		for _, p := range proto.Params {
			one.Params = append(one.Params, kerneltype.Param{Name: p.Name, Type: p.Type})
		}
		if _, isVoid := proto.Return.(*btf.Void); !isVoid {
			one.Result = proto.Return
		}
		all = append(all, one)
	}
	return all, nil
}

// kernelNames returns the names of functions of the kernel that can be traced, or else of all that its types describe.
func (m *probeMachine) kernelNames() (names []string) {
	if traceable := m.traceable(); len(traceable) > 0 {
		return traceable
	}
	all, _ := m.read.Functions("*", maxKernelFunctions) // they were read before
	for _, fn := range all {
		names = append(names, fn.Name)
	}
	return names
}

// maxKernelFunctions bounds the functions that a pattern selects, before those are left out that cannot be probed.
const maxKernelFunctions = 1 << 16

// traceable returns the functions of the kernel that can be traced, sorted; nil: they are not known.
func (m *probeMachine) traceable() []string {
	if m.functions == nil {
		if m.tracepoints() == nil && m.finder.fs != nil {
			m.functions, _ = m.finder.fs.Functions() // without function tracing there is no list
		}
	}
	return m.functions
}

// tracepoints makes the finder of tracepoints.
func (m *probeMachine) tracepoints() (err error) {
	if m.finder == nil {
		m.finder, err = newTracepointFinder(m.read)
	}
	return err
}

func (m *probeMachine) Programs(target string) ([]probeplan.BPFFunction, error) {
	return bpf.FindPrograms(m.read, target)
}

func (m *probeMachine) Open(path string) (*usercode.File, error) {
	if f := m.files[path]; f != nil {
		return f, nil
	}
	f, err := usercode.Open(path)
	if err != nil {
		return nil, err
	}
	m.files[path] = f
	return f, nil
}

// libraryDirs are where libraries are that are named without their folders.
func libraryDirs() []string {
	return []string{"/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib", "/usr/local/lib"}
}

// Path finds a program in PATH, or a library in the usual folders, unless the name has a folder.
func (m *probeMachine) Path(name string) (string, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err != nil {
			return "", err
		}
		return name, nil
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range libraryDirs() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is neither in this folder, nor in PATH, nor in a folder of libraries", name)
}

// Files returns the files with code of a process, as this process can open them.
func (m *probeMachine) Files(pid int) (paths []string, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	text, err := os.ReadFile(dir + "/maps")
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || len(fields[1]) < 3 || fields[1][2] != 'x' || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		path := strings.TrimSpace(line[strings.Index(line, fields[5]):])
		if seen[path] {
			continue
		}
		seen[path] = true
		inside := dir + "/root" + path
		if _, err := os.Stat(inside); err != nil { // it is deleted or replaced
			inside = mappedPath(dir, fields[0])
		}
		paths = append(paths, inside)
	}
	if len(paths) == 0 {
		return nil, errors.New("it has no mapped file with code, as threads of the kernel")
	}
	return paths, nil
}

// GPUProcesses returns the processes that use GPUs.
func (m *probeMachine) GPUProcesses() (pids []int, err error) {
	out, err := exec.Command("nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader").Output()
	if err != nil {
		return nil, fmt.Errorf("run nvidia-smi: %w", err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		return nil, errors.New("nvidia-smi lists no process")
	}
	return pids, nil
}

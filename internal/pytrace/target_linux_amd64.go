package pytrace

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/python"
)

// target is what is known of a process before it is stopped.
type target struct {
	pid          int
	in           *python.Interpreter
	layout       layout
	runtime      uint64            // address of _PyRuntime
	functions    map[string]uint64 // of the interpreter
	clockGettime uint64
	syscall      uint64  // address of an instruction syscall
	zeros        uint64  // address of a byte that is zero: an empty text
	file         mapping // code of the interpreter
	library      mapping // code of PyTorch, where its operators are recorded
	image        agentImage
	agent        uint64 // where an earlier recording has left the agent; 0: it has not
	parents      uint64 // where a child of fork(2) has the agent that traces its parent; 0: it has not
	own          uint64 // of the agent for PyTorch, the page that stays with it
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end, offset uint64
	permissions, path  string
}

func readMappings(pid int) (all []mapping, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, errors.New("it has ended")
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		var device string
		var inode uint64
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &m.start, &m.end, &m.permissions, &m.offset, &device, &inode); n < 6 {
			continue
		}
		if fields := strings.Fields(line); len(fields) > 5 {
			m.path = strings.Join(fields[5:], " ")
		}
		all = append(all, m)
	}
	return all, nil
}

// examine finds out whether a process can be traced.
func examine(pid int) (*target, error) {
	if err := checkStatus(pid); err != nil {
		return nil, err
	}
	all, err := readMappings(pid)
	if err != nil {
		return nil, err
	}
	t := &target{pid: pid, image: readImage(image)}
	for _, m := range all {
		switch {
		case m.path == "[vdso]":
			err = t.readVDSO(m)
		case strings.Contains(m.permissions, "x") && m.path != "" && t.in == nil:
			err = t.readFile(m)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case t.in == nil:
		return nil, ErrNoPython
	case t.syscall == 0 || t.clockGettime == 0:
		return nil, errors.New("its vdso has no clock_gettime")
	}
	return t, nil
}

// recheck finds out, when the process is stopped, whether it is still the same program, and whether it has the agent. Another recorder may have
// been at work until then.
func (t *target) recheck() error {
	all, err := readMappings(t.pid)
	if err != nil {
		return err
	}
	if !slices.Contains(all, t.file) || t.library.end != 0 && !slices.Contains(all, t.library) {
		return errors.New("it has become another program")
	}
	for _, m := range all {
		if m.path == agentPath && strings.Contains(m.permissions, "x") {
			if err := t.findAgent(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// ErrNoPython: the process has no interpreter whose functions are exported.
var ErrNoPython = errors.New("it has no Python interpreter that exports its functions")

// statusField returns a field of /proc/PID/status; "": it is not there.
func statusField(text []byte, name string) string {
	_, after, _ := bytes.Cut(text, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return strings.TrimSpace(string(line))
}

func checkStatus(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return errors.New("it does not run")
	}
	if tracer := statusField(text, "TracerPid"); tracer != "0" && tracer != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("process %s traces it", tracer)
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range tasks {
		if tid, err := strconv.Atoi(e.Name()); err == nil && isFiltered(pid, tid) {
			return errors.New("seccomp filters its system calls")
		}
	}
	if state := statusField(text, "State"); strings.HasPrefix(state, "Z") {
		return errors.New("its main thread has ended")
	}
	if parent, _ := strconv.Atoi(statusField(text, "PPid")); parent != 0 && sharesMemory(pid, parent) {
		return errShared
	}
	return checkTime(pid)
}

// errShared: the process is a child of vfork(2), which borrows its parent's interpreter until it executes a program.
var errShared = errors.New("it shares its memory with its parent")

// sharesMemory reports false where the kernel cannot compare processes.
func sharesMemory(pid, other int) bool {
	const kcmpVM = 1
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(other), kcmpVM, 0, 0, 0)
	return errno == 0 && order == 0
}

// checkTime refuses processes whose clock differs from the recorder's.
func checkTime(pid int) error {
	own, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		return nil // this kernel has no time namespaces
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", pid))
	switch {
	case err != nil:
		return errors.New("it may not be traced: its time namespace cannot be read")
	case its != own:
		return errors.New("its clock is that of another time namespace")
	}
	return nil
}

func (t *target) readVDSO(m mapping) error {
	b := make([]byte, m.end-m.start)
	if err := readMemory(t.pid, m.start, b); err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("read its vdso: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("read its vdso: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			t.clockGettime = m.start + s.Value
		}
	}
	if i := bytes.Index(b, []byte{0x0f, 0x05}); i > 0 {
		t.syscall = m.start + uint64(i)
	}
	t.zeros = m.start + elf.EI_PAD
	return nil
}

// functionNames are what the agent calls, in the order of their places in config.
func functionNames() []string {
	return []string{
		"PyThreadState_Get", "Py_IncRef", "Py_DecRef", "PySys_GetObject", "PyObject_GetAttrString", "PyObject_CallFunction", "PyCFunction_NewEx",
		"PyLong_AsLong", "PyErr_Clear", "_Py_NoneStruct",
	}
}

// readFile looks for an interpreter in a mapped file.
func (t *target) readFile(m mapping) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", t.pid, m.start, m.end))
	if err != nil {
		return nil // the file is no regular one
	}
	defer f.Close()
	in, err := python.Read(f)
	if unknown := (*python.UnknownError)(nil); errors.As(err, &unknown) {
		return unknown
	}
	if err != nil {
		return nil // it has no interpreter
	}
	l, ok := layoutOf(in)
	switch {
	case !ok:
		return fmt.Errorf("functions of Python 3.%d cannot be traced yet: it takes 3.8 to 3.15", in.Minor)
	case in.FreeThreaded:
		return errors.New("its Python has no global lock")
	}
	t.in, t.layout, t.file = in, l, m
	t.runtime = m.start - m.offset + in.Runtime
	return t.findFunctions(f, m)
}

func (t *target) findFunctions(r *os.File, m mapping) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("read the file of its interpreter: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("read the symbols of its interpreter: %w", err)
	}
	var bias uint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			bias = m.start - m.offset + p.Off - p.Vaddr
		}
	}
	t.functions = make(map[string]uint64)
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			t.functions[s.Name] = s.Value + bias
		}
	}
	for _, name := range functionNames() {
		if t.functions[name] == 0 {
			return fmt.Errorf("its interpreter does not export %s", name)
		}
	}
	return nil
}

// agentPath is what the mapping of the agent's code is called: that of a memfd without a name.
const agentPath = "/memfd: (deleted)"

// findAgent finds the agent that an earlier recording has left, if it is the same.
func (t *target) findAgent(m mapping) error {
	a := t.image
	b := make([]byte, len(a.code))
	if m.end-m.start != uint64(len(b)) || readMemory(t.pid, m.start, b) != nil || !bytes.Equal(a.code, b) {
		return nil
	}
	inUse, err := readWord(t.pid, m.start+a.config)
	if err != nil {
		return err
	}
	before := t.agent
	t.agent = m.start
	forked, err := t.isOfParent(inUse)
	switch {
	case err != nil:
		return err
	case inUse == 0:
		return nil
	case forked && t.library.end == 0:
		t.agent, t.parents = before, m.start
		return nil
	case forked:
		return nil
	}
	return errors.New("another recording traces it, or has ended less than 5 s ago, or before its Python ran any code")
}

// isOfParent reports whether a child of fork(2) has the agent of its parent, which does nothing here. That for calls is then left alone, and another
// one is mapped.
func (t *target) isOfParent(inUse uint64) (bool, error) {
	if t.library.end != 0 {
		return t.findOwn()
	}
	if inUse == 0 {
		return false, nil
	}
	page, err := readWord(t.pid, t.agent+t.image.config+uint64(unsafe.Offsetof(config{}.Alive)))
	if err != nil {
		return false, err
	}
	alive, err := readWord(t.pid, page)
	return alive == 0, err
}

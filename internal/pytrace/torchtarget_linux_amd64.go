package pytrace

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// ErrNoTorch: the process has no PyTorch in a library of its own.
var ErrNoTorch = errors.New("it has not loaded libtorch_cpu.so: it has not imported torch, or has a static build of it")

const (
	torchLibrary    = "libtorch_cpu.so"
	maxTorchVersion = 1 << 16 // bytes of torch/version.py
)

// What the agent calls, of the namespace at.
const (
	torchAdd     = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
	torchRemove  = "_ZN2at14removeCallbackEm"
	torchName    = "_ZNK2at14RecordFunction4nameEv"
	torchThread  = "_ZN2at14RecordFunction15currentThreadIdEv"
	torchIsAsync = "_ZNK2at14RecordFunction7isAsyncEv"
	torchPeek    = "_ZN2at15sequence_number4peekEv"
	addPending   = "Py_AddPendingCall"
)

// torchTarget is what is known of a process's PyTorch before it is stopped.
type torchTarget struct {
	layout    torchLayout
	functions map[string]uint64
	shapes    bool
}

func (tt *torchTarget) examine(t *target) error {
	all, err := readMappings(t.pid)
	if err != nil {
		return err
	}
	i := findLibrary(all)
	if i < 0 {
		return ErrNoTorch
	}
	m := all[i]
	text, err := readTorchVersion(t.pid, m.path)
	if err != nil {
		return err
	}
	if tt.layout, err = torchLayoutOf(text); err != nil {
		return err
	}
	if err := tt.findFunctions(t, m); err != nil {
		return err
	}
	code := make([]byte, len(tt.layout.name))
	if err := readMemory(t.pid, tt.functions[torchName], code); err != nil {
		return err
	}
	if !tt.layout.isBuilt(code) {
		return errors.New("its PyTorch was compiled in another way than the packages that are known")
	}
	t.library, t.image = m, readImage(torchImage)
	return nil
}

// HasTorch reports whether a process has loaded PyTorch.
func HasTorch(pid int) bool {
	all, err := readMappings(pid)
	return err == nil && findLibrary(all) >= 0
}

// findLibrary returns which mapping is the code of PyTorch; -1: none.
func findLibrary(all []mapping) int {
	for i, m := range all {
		if path.Base(m.path) == torchLibrary && strings.Contains(m.permissions, "x") {
			return i
		}
	}
	return -1
}

// readTorchVersion reads torch/version.py, which is beside the folder of the library.
func readTorchVersion(pid int, library string) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/root%s/version.py", pid, path.Dir(path.Dir(library))))
	if err != nil {
		return nil, fmt.Errorf("read the version of its PyTorch: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.New("the version of its PyTorch is not in a file")
	}
	return io.ReadAll(io.LimitReader(f, maxTorchVersion))
}

func (tt *torchTarget) findFunctions(t *target, m mapping) error {
	r, err := os.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", t.pid, m.start, m.end))
	if err != nil {
		return fmt.Errorf("read its PyTorch: %w", err)
	}
	defer r.Close()
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("read its PyTorch: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("read the symbols of its PyTorch: %w", err)
	}
	tt.functions = map[string]uint64{torchAdd: 0, torchRemove: 0, torchName: 0, torchThread: 0, torchIsAsync: 0, torchPeek: 0}
	bias, err := biasOf(f, m)
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if _, wanted := tt.functions[s.Name]; wanted && s.Section != elf.SHN_UNDEF {
			tt.functions[s.Name] = s.Value + bias
		}
	}
	for name, at := range tt.functions {
		if at == 0 {
			return fmt.Errorf("its PyTorch does not export %s", name)
		}
	}
	if tt.functions[addPending] = t.functions[addPending]; tt.functions[addPending] == 0 {
		return fmt.Errorf("its interpreter does not export %s", addPending)
	}
	return nil
}

// biasOf returns how far a mapping of code is from the addresses in its file.
func biasOf(f *elf.File, m mapping) (uint64, error) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off&^(pageBytes-1) == m.offset {
			return m.start - m.offset + p.Off - p.Vaddr, nil
		}
	}
	return 0, errors.New("its PyTorch is not mapped as its file says")
}

// findOwn finds the page that an earlier recording has left with the agent for PyTorch. In a child of fork(2) the agent looks used, but
// the page says that it is not.
func (t *target) findOwn() (forked bool, err error) {
	if t.library.end == 0 {
		return false, nil
	}
	if t.own, err = readWord(t.pid, t.agent+t.image.config+torchConfigOwn); err != nil || t.own == 0 {
		return false, err
	}
	alive, err := readWord(t.pid, t.own)
	return alive == 0, err
}

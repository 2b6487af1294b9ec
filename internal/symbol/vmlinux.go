package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"wprof/format"
	"wprof/internal/dwarfline"
)

// errNoText is the error for a vmlinux in which the kernel's addresses cannot be found.
var errNoText = errors.New("its vmlinux has no symbol _text")

// maxKernelFolders bounds the kernels of a folder that are tried.
const maxKernelFolders = 256

// kernelLines visits lines from the kernel's ELF file. Offsets count from _text, so that they hold wherever the kernel was loaded.
func (r *Resolver) kernelLines(form Form, m *format.Module, at []Address, visit func(i int, line *Line)) error {
	if len(m.BuildId) == 0 {
		return nil
	}
	vmlinux, path, done := r.findVmlinux(m.BuildId)
	if vmlinux == nil {
		return r.storedLines(form, m, at, visit)
	}
	defer done()
	text, err := vmlinux.kernelText()
	if err != nil {
		return err
	}
	d, err := r.openDWARF(vmlinux.image(path), "", form)
	if err != nil {
		return err
	}
	defer d.Close()
	places, addresses := sorted(at, func(a Address) (uint64, bool) {
		offset, ok := (&loaded{}).address(a)
		return text + offset, ok
	})
	return d.Find(addresses, func(i int, line *Line) { visit(int(places[i]), line) })
}

// findVmlinux opens the kernel's ELF file with DWARF, and returns its path and what closes it; nil: there is none.
func (r *Resolver) findVmlinux(buildID []byte) (vmlinux *File, path string, done func()) {
	usable := func(f *File) bool { return bytes.Equal(f.buildID, buildID) && dwarfline.Has(f.elf) }
	for _, name := range r.vmlinuxPaths(buildID) {
		in, size, err := OpenRegular(name)
		if err != nil {
			continue
		}
		if f, err := Open(in, size); err == nil && usable(f) {
			return f, name, func() { in.Close() }
		}
		in.Close()
	}
	if r.options.FetchKernel {
		vmlinux, done = r.fetchDebugFile(buildID, usable)
	}
	return vmlinux, "", done
}

// vmlinuxPaths returns where the kernel's ELF file may be: as distributions install it with its debug information, as a copy in a
// debug folder, and in the folder where the kernel was built. Of several kernels, the one with the build-id counts.
func (r *Resolver) vmlinuxPaths(buildID []byte) (paths []string) {
	dirs := r.debugDirs()
	for _, dir := range dirs {
		paths = append(paths, byBuildID(dir, buildID)...)
		paths = append(paths, filepath.Join(dir, "vmlinux"))
	}
	if !r.options.NoPaths {
		dirs = append(dirs, "/")
	}
	for _, dir := range dirs {
		for _, name := range namesIn(filepath.Join(dir, "boot")) {
			if strings.HasPrefix(name, "vmlinux-") {
				paths = append(paths, filepath.Join(dir, "boot", name))
			}
		}
		for _, modules := range []string{"lib/modules", "usr/lib/modules"} {
			for _, release := range namesIn(filepath.Join(dir, modules)) {
				folder := filepath.Join(dir, modules, release)
				paths = append(paths, filepath.Join(folder, "vmlinux"), filepath.Join(folder, "build", "vmlinux"))
			}
		}
	}
	return paths
}

// namesIn returns the names in a folder; none if it cannot be read.
func namesIn(folder string) []string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxKernelFolders)
	return names
}

// kernelText returns the address of _text.
func (f *File) kernelText() (uint64, error) {
	var l functions
	if err := f.addSymbols(&l, elf.SHT_SYMTAB); err != nil {
		return 0, err
	}
	for _, s := range l.list {
		if s.rank&hasSize != 0 { // the linker's own symbols have none
			continue
		}
		if name, ok := l.names.read(s.name); ok && name == "_text" {
			return s.start, nil
		}
	}
	return 0, errNoText
}

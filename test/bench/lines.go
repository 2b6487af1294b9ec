package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	instantiations = 40 // of testdata/many.cc: 22 MB of DWARF
	debugBytes     = 1e9
)

// lines measures how fast the lines of a large debug file are found.
func (b *bench) lines() error {
	path, size, dwarf, err := b.debugFile()
	if err != nil {
		return err
	}
	var seconds, memory []float64
	addresses, found := 0, 0
	for range b.few() + 1 {
		took, u, err := inProcess("lines", path, &addresses, &found)
		if err != nil {
			return err
		}
		seconds, memory = append(seconds, took), append(memory, float64(u.peakRSS)/(1<<20))
	}
	note := fmt.Sprintf("%d MB, of which %d MB are DWARF without its strings: copies of one object with names of their own; %d lines are found", size/1e6, dwarf/1e6, found)
	const command = "build/bench -read lines FILE"
	name := fmt.Sprintf("lines of %d different addresses of a debug file of 1 GB", addresses)
	b.add(Row{Name: name, Unit: "s", Hold: "10", Limit: 10, Runs: seconds[1:], Command: command, Note: note})
	b.add(Row{Name: name + ": peak memory of the process", Unit: "MiB", Hold: "512", Limit: 512, Runs: memory[1:], Command: command, Note: note})
	return nil
}

// debugFile links many copies of one object, because a compiler takes half an hour for as much.
func (b *bench) debugFile() (path string, size int64, dwarf uint64, err error) {
	dir := filepath.Join(b.tmp, "debug")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", 0, 0, err
	}
	in := func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}
	source, err := filepath.Abs("test/bench/testdata/many.cc")
	if err != nil {
		return "", 0, 0, err
	}
	if err := in("g++", "-O2", "-g", "-fPIC", "-DCOUNT="+strconv.Itoa(instantiations), "-c", source, "-o", "many.o"); err != nil {
		return "", 0, 0, err
	}
	one, err := dwarfBytes(filepath.Join(dir, "many.o"))
	if err != nil {
		return "", 0, 0, err
	}
	link := []string{"-shared", "--build-id", "--unresolved-symbols=ignore-all", "-o", "many.so"}
	for i := range debugBytes/one + 1 {
		object := fmt.Sprintf("%d.o", i)
		if err := in("objcopy", fmt.Sprintf("--prefix-symbols=copy%d_", i), "many.o", object); err != nil {
			return "", 0, 0, err
		}
		link = append(link, object)
	}
	if err := in("ld", link...); err != nil {
		return "", 0, 0, err
	}
	path = filepath.Join(dir, "many.so")
	st, err := os.Stat(path)
	if err != nil {
		return "", 0, 0, err
	}
	dwarf, err = dwarfBytes(path)
	return path, st.Size(), dwarf, err
}

// dwarfBytes is the size of a file's debug information without strings, which the linker merges.
func dwarfBytes(path string) (sum uint64, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") && s.Flags&elf.SHF_MERGE == 0 {
			sum += s.Size
		}
	}
	return sum, nil
}

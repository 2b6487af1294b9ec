package main

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/symbol"
	"wprof/internal/unwind"
)

// readELF reads something of an ELF file, and prints what [bench.inProcess] reads: counts, and the seconds that it took. In a process
// of its own, it has memory of its own.
func readELF(what, path string) error {
	read := map[string]func(string) ([]int, error){"symbols": readSymbols, "lines": readLines, "table": readTable}[what]
	if read == nil {
		return fmt.Errorf("-read takes symbols, lines or table, and not %q", what)
	}
	began := time.Now()
	counts, err := read(path)
	if err != nil {
		return fmt.Errorf("read the %s of %s: %w", what, path, err)
	}
	seconds := time.Since(began).Seconds()
	for _, n := range counts {
		fmt.Print(n, " ")
	}
	fmt.Println(seconds)
	return nil
}

// inProcess is readELF in a process of its own.
func inProcess(what, path string, counts ...*int) (seconds float64, u usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, u, err
	}
	if u, err = runWatched(self, "-read", what, path); err != nil {
		return 0, u, err
	}
	var all []any
	for _, n := range counts {
		all = append(all, n)
	}
	if _, err := fmt.Sscan(u.out, append(all, &seconds)...); err != nil {
		return 0, u, fmt.Errorf("read what bench -read %s prints, %q: %w", what, u.out, err)
	}
	return seconds, u, nil
}

// withFile calls a function with an open file and its size in bytes.
func withFile(path string, use func(f *os.File, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return use(f, st.Size())
}

// readSymbols counts functions.
func readSymbols(path string) (counts []int, err error) {
	err = withFile(path, func(f *os.File, size int64) error {
		file, err := symbol.Open(f, size)
		if err != nil {
			return err
		}
		table, err := file.Table()
		if err != nil {
			return err
		}
		counts = []int{table.Len()}
		return nil
	})
	return counts, err
}

// readTable counts the rows of an unwind table, and the bytes that it takes in the kernel.
func readTable(path string) (counts []int, err error) {
	err = withFile(path, func(f *os.File, size int64) error {
		t, err := unwind.Build(f, size)
		if err != nil {
			return err
		}
		counts = []int{len(t.Rows), 4 * t.Words()}
		return nil
	})
	return counts, err
}

const lineAddresses = 1_000_000

// readLines counts the lines of a million different addresses.
func readLines(path string) (counts []int, err error) {
	err = withFile(path, func(f *os.File, size int64) error {
		m, addresses, err := spread(f, size)
		if err != nil {
			return err
		}
		r := symbol.NewResolver(symbol.Options{})
		defer r.Close()
		found := 0
		if err := r.Lines(m, addresses, func(int, *symbol.Line) { found++ }); err != nil {
			return err
		}
		counts = []int{len(addresses), found}
		return nil
	})
	return counts, err
}

// spread chooses addresses in all of a file's code, in no order.
func spread(f *os.File, size int64) (*format.Module, []symbol.Address, error) {
	file, err := symbol.Open(f, size)
	if err != nil {
		return nil, nil, err
	}
	random := rand.New(rand.NewPCG(7, 8))
	var all []symbol.Address
	for _, p := range file.ELF().Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		for i, step := uint64(0), max(1, p.Filesz/lineAddresses); i < p.Filesz/step && len(all) < lineAddresses; i++ {
			all = append(all, symbol.Address{Offset: p.Off + i*step + random.Uint64N(step)})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	sys := st.Sys().(*syscall.Stat_t)
	return &format.Module{
		Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte(f.Name()), BuildId: file.BuildID(),
		Device: uint64(unix.Major(sys.Dev))<<32 | uint64(unix.Minor(sys.Dev)), Inode: sys.Ino,
		Size: uint64(size), Mtime: uint64(sys.Mtim.Nano()), Ctime: uint64(sys.Ctim.Nano()),
	}, all, nil
}

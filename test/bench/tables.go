package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// tables measures how fast unwind tables are made, and their size in the kernel.
func (b *bench) tables() error {
	libc, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	if err != nil {
		return fmt.Errorf("find the C library: %w", err)
	}
	llvm, err := filepath.Glob("/usr/lib/*/libLLVM.so.*")
	if err != nil || len(llvm) == 0 {
		return errors.New("there is no libLLVM (Debian: clang-19)")
	}
	if err := b.table("libc", strings.TrimSpace(string(libc)), 10); err != nil {
		return err
	}
	return b.table("libLLVM", llvm[0], 300)
}

// table measures the table of one file, which the first run brings into the page cache.
func (b *bench) table(name, path string, limit float64) error {
	var ms, row []float64
	rows, bytes := 0, 0
	for range b.few() + 1 {
		seconds, _, err := inProcess("table", path, &rows, &bytes)
		if err != nil {
			return err
		}
		ms, row = append(ms, 1000*seconds), append(row, float64(bytes)/float64(rows))
	}
	note := fmt.Sprintf("%s: %d rows in %d kB; a row's bytes include its share of the index of pages and of the rules", filepath.Base(path), rows, bytes/1000)
	const command = "build/bench -read table FILE"
	b.add(Row{Name: "unwind table of " + name, Unit: "ms", Hold: fmt.Sprintf("%.0f", limit), Limit: limit, Runs: ms[1:], Command: command, Note: note})
	b.add(Row{Name: "unwind table of " + name + ": bytes a row", Unit: "bytes", Hold: "8", Limit: 8, Runs: row[1:], Command: command, Note: note})
	return nil
}

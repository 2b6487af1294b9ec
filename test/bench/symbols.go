package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// symbols measures how fast the symbols of the largest binary at hand are read, each time in a process of its own.
func (b *bench) symbols() error {
	largest, err := largestBinary()
	if err != nil {
		return err
	}
	var speed, memory []float64
	count := 0
	for range b.few() {
		seconds, u, err := inProcess("symbols", largest, &count)
		if err != nil {
			return err
		}
		speed = append(speed, float64(count)/seconds/1e6)
		memory = append(memory, float64(u.peakRSS)/(1<<20))
	}
	st, err := os.Stat(largest)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s: %d functions in %d MiB", filepath.Base(largest), count, st.Size()>>20)
	b.add(Row{Name: "symbols of the largest binary at hand", Unit: "M symbols/s", Runs: speed, Command: "build/bench -read symbols FILE", Note: note})
	b.add(Row{Name: "symbols of the largest binary at hand: peak memory of the process", Unit: "MiB", Hold: "256", Limit: 256, Runs: memory, Command: "build/bench -read symbols FILE", Note: note})
	return nil
}

// largestBinary is the file with most functions among the programs and libraries of this machine.
func largestBinary() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	best, most := "", 0
	for _, dir := range []string{"/usr/bin", "/usr/lib", "/usr/local", filepath.Join(home, ".rustup")} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil
			}
			if info, err := entry.Info(); err != nil || info.Size() < 8<<20 || info.Size() < int64(most) || !isELF(path) {
				return nil
			}
			if n, err := readSymbols(path); err == nil && n[0] > most {
				best, most = path, n[0]
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	if best == "" {
		return "", errors.New("there is no file of 8 MiB or more with symbols")
	}
	return best, nil
}

func isELF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = f.Read(magic)
	return err == nil && string(magic) == elf.ELFMAG
}

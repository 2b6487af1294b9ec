package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// creation compares how fast threads, processes, names and mappings of code are made with and without a default recording:
// each makes a side-band record.
func (b *bench) creation() error {
	program := filepath.Join(b.tmp, "creation")
	if err := compile(program, "test/bench/testdata/creation.c"); err != nil {
		return err
	}
	for _, c := range []struct {
		kind, name string
		count      int
		hold       string
		limit      float64
	}{
		{"thread", "pthread_create and join, default recording: slowdown", 20000, "×1.15", 1.15},
		{"fork", "fork and wait, default recording: slowdown", 5000, "×1.15", 1.15},
		{"program", "posix_spawn and wait, default recording: slowdown", 1000, "×1.15", 1.15},
		{"name", "thread renames, default recording: slowdown", 300000, "", 0},
		{"mapping", "mmap(PROT_EXEC) and munmap, default recording: slowdown", 100000, "", 0},
	} {
		ratios, err := b.besideRecording(program, c.kind, strconv.Itoa(c.count))
		if err != nil {
			return err
		}
		b.add(Row{Name: c.name, Unit: "×", Hold: c.hold, Limit: c.limit, Runs: ratios,
			Command: fmt.Sprintf("test/bench/testdata/creation.c %s %d, with and without wprof-record -d60s -o FILE", c.kind, c.count)})
	}
	return nil
}

// besideRecording runs a program that prints its rate, in turns without and with a default recording.
func (b *bench) besideRecording(program string, args ...string) (ratios []float64, err error) {
	file := filepath.Join(b.tmp, "creation.wprof")
	for range b.pairs {
		before, err := rounds(program, args...)
		if err != nil {
			return nil, err
		}
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "-d60s", "-o", file)
		if err != nil {
			return nil, err
		}
		tracer.waitOpen()
		with, err := rounds(program, args...)
		_, stopErr := tracer.stop()
		if err := errors.Join(err, stopErr); err != nil {
			return nil, err
		}
		ratios = append(ratios, before/with)
	}
	return ratios, nil
}

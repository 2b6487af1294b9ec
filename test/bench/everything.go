package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// allSources are the values of -f that add something to a default recording.
const allSources = "irq,wq,ipi,syscall,block,fault,lock,net,signal,power,memory,io_uring,migrate"

// build is a parallel build of Go's standard library, as far as encoding/json needs it, with an empty cache.
type build struct{ folder string }

func (w build) seconds() (float64, error) {
	cache, err := os.MkdirTemp(w.folder, "cache-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(cache)
	cmd := exec.Command("go", "build", "-o", os.DevNull, "encoding/json")
	cmd.Env = append(os.Environ(), "GOCACHE="+cache, "GOFLAGS=", "CGO_ENABLED=0")
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
	}
	return time.Since(began).Seconds(), nil
}

// everything records a parallel build with the defaults, with interrupts, and with all sources at once.
func (b *bench) everything() error {
	for _, v := range []struct{ name, features string }{
		{"default recording", ""},
		{"default recording with hardirq and softirq", "hardirq,softirq"},
		{"all sources at once", allSources},
	} {
		if err := b.besideBuild(v.name, v.features); err != nil {
			return err
		}
	}
	return b.packets()
}

func (b *bench) besideBuild(name, features string) error {
	args := []string{"-v", "-d120s"}
	if features != "" {
		args = append(args, "-f", features)
	}
	file := filepath.Join(b.tmp, "everything.wprof")
	args = append(args, "-o", file)
	var slowdown, lost, rate, stored, size []float64
	work := build{b.tmp}
	for range (b.pairs + 1) / 2 {
		without, err := work.seconds()
		if err != nil {
			return err
		}
		with, _, err := traced(nil, work, b.tool("wprof-record"), args...)
		if err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		slowdown, lost = append(slowdown, with/without), append(lost, float64(c.lost))
		rate = append(rate, float64(c.events)/with/1e3)
		stored, size = append(stored, float64(c.size)/float64(c.events)), append(size, float64(c.size)/with/1e6)
	}
	const build = "a parallel build (go build encoding/json with an empty cache)"
	command := build + ", with and without wprof-record"
	if features != "" {
		command += " -f " + features
	}
	command += ", in turns"
	b.add(Row{Name: "parallel build, " + name + ": slowdown", Unit: "×", Runs: slowdown, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": events lost", Unit: "events", Hold: "0", Upper: true, Runs: lost, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": events", Unit: "thousand events/s", Runs: rate, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": stored bytes per event, definitions included", Unit: "bytes", Runs: stored, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": capture", Unit: "MB/s", Runs: size, Command: command})
	return nil
}

// packets sends and receives as many datagrams as every CPU can, each CPU its own.
func (b *bench) packets() error {
	program := filepath.Join(b.tmp, "events")
	if err := compile(program, "test/bench/testdata/events.c"); err != nil {
		return err
	}
	const batches, batch = 30_000, 64
	flood := func() (float64, error) {
		errs := make([]error, runtime.NumCPU())
		var wg sync.WaitGroup
		began := time.Now()
		for cpu := range errs {
			wg.Go(func() {
				_, errs[cpu] = run(nil, nil, program, strconv.Itoa(cpu), "datagrams", strconv.Itoa(batches))
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		return float64(2*batches*batch*len(errs)) / time.Since(began).Seconds() / 1e6, nil
	}
	var without, with, lost []float64
	file := filepath.Join(b.tmp, "packets.wprof")
	for range b.few() {
		rate, err := flood()
		if err != nil {
			return err
		}
		without = append(without, rate)
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "--no-stacks", "-f", "net", "-d120s", "-o", file)
		if err != nil {
			return err
		}
		tracer.waitOpen()
		rate, err = flood()
		if _, stopErr := tracer.stop(); err == nil {
			err = stopErr
		}
		if err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		with, lost = append(with, rate), append(lost, float64(c.lost))
	}
	const command = "test/bench/testdata/events.c datagrams on each CPU, with and without wprof-record --no-stacks -f net -d120s -o FILE"
	b.add(Row{Name: "packets on loopback on every CPU, out and in, not recorded", Unit: "M packets/s", Runs: without, Command: command})
	b.add(Row{Name: "packets on loopback on every CPU, out and in, recorded", Unit: "M packets/s", Hold: "at least 1", Limit: 1, AtLeast: true, Runs: with, Command: command})
	b.add(Row{Name: "packets on loopback on every CPU: events lost", Unit: "events", Hold: "0", Upper: true, Runs: lost, Command: command})
	return nil
}

package main

import (
	"errors"
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
	args, command := []string{"-d120s"}, "a parallel build (go build encoding/json with an empty cache), with and without wprof-record"
	if features != "" {
		args = append(args, "-f", features)
		command += " -f " + features
	}
	command += ", in turns"
	var slowdown, lost, rate, stored, size []float64
	for range (b.pairs + 1) / 2 {
		without, with, c, err := b.turn(build{b.tmp}, args...)
		if err != nil {
			return err
		}
		slowdown, lost = append(slowdown, with/without), append(lost, float64(c.lost))
		rate = append(rate, float64(c.events)/with/1e3)
		stored, size = append(stored, float64(c.size)/float64(c.events)), append(size, float64(c.size)/with/1e6)
	}
	b.add(Row{Name: "parallel build, " + name + ": slowdown", Unit: "×", Runs: slowdown, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": events lost", Unit: "events", Hold: "0", Upper: true, Runs: lost, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": events", Unit: "thousand events/s", Runs: rate, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": stored bytes per event, definitions included", Unit: "bytes", Runs: stored, Command: command})
	b.add(Row{Name: "parallel build, " + name + ": capture", Unit: "MB/s", Runs: size, Command: command})
	return nil
}

const floodBatches = 30_000

// packetFlood sends and receives as many datagrams as every CPU can, each CPU its own.
type packetFlood struct{ program string }

func (w packetFlood) seconds() (float64, error) {
	errs := make([]error, runtime.NumCPU())
	var wg sync.WaitGroup
	began := time.Now()
	for cpu := range errs {
		wg.Go(func() {
			_, errs[cpu] = run(nil, nil, w.program, strconv.Itoa(cpu), "datagrams", strconv.Itoa(floodBatches))
		})
	}
	wg.Wait()
	return time.Since(began).Seconds(), errors.Join(errs...)
}

func (b *bench) packets() error {
	work := packetFlood{filepath.Join(b.tmp, "events")}
	if err := compile(work.program, "test/bench/testdata/events.c"); err != nil {
		return err
	}
	const batch = 64 // BATCH of events.c; each datagram goes out and in
	millions := 2 * floodBatches * batch * float64(runtime.NumCPU()) / 1e6
	var before, recorded, lost []float64
	for range b.few() {
		without, with, c, err := b.turn(work, "--no-stacks", "-f", "net", "-d120s")
		if err != nil {
			return err
		}
		before, recorded, lost = append(before, millions/without), append(recorded, millions/with), append(lost, float64(c.lost))
	}
	const command = "test/bench/testdata/events.c datagrams on each CPU, with and without wprof-record --no-stacks -f net -d120s -o FILE"
	b.add(Row{Name: "packets on loopback on every CPU, out and in, not recorded", Unit: "M packets/s", Runs: before, Command: command})
	b.add(Row{Name: "packets on loopback on every CPU, out and in, recorded", Unit: "M packets/s", Hold: "at least 1", Limit: 1, AtLeast: true, Runs: recorded, Command: command})
	b.add(Row{Name: "packets on loopback on every CPU: events lost", Unit: "events", Hold: "0", Upper: true, Runs: lost, Command: command})
	return nil
}

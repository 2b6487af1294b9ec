package main

import (
	"fmt"
	"path/filepath"

	"wprof/internal/proc"
)

// offcpu measures what the stacks of waiting threads cost: all of them, and those of the default threshold.
func (b *bench) offcpu() error {
	if err := b.offcpuSlowdown(); err != nil {
		return err
	}
	if err := b.offcpuCost(); err != nil {
		return err
	}
	return b.thresholds()
}

var everyStack = []string{"-v", "-Soffcpu", "--offcpu-min", "0", "-d60s", "-o"}

// whereStacksGo explains the cost of a stack. Each part was measured by leaving it out.
const whereStacksGo = "nearly all stacks are taken without the kernel's unwinder, which takes 0.9 us: comparing the kernel's part with a remembered stack " +
	"takes 0.02 us, walking the program's five frames 0.15 us, and the rest is writing the record and the kernel's own measurement. A page " +
	"fault, where the frame pointer register holds another value, costs 0.45 us more"

func (b *bench) offcpuSlowdown() error {
	file := filepath.Join(b.tmp, "offcpu.wprof")
	var all, usual []float64
	for range b.pairs {
		before, err := fivePipes{}.seconds()
		if err != nil {
			return err
		}
		with, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), append(everyStack, file)...)
		if err != nil {
			return err
		}
		between, err := fivePipes{}.seconds()
		if err != nil {
			return err
		}
		byDefault, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), "-v", "-d60s", "-o", file)
		if err != nil {
			return err
		}
		all, usual = append(all, with/before), append(usual, byDefault/between)
	}
	const bench = fivePipesCommand + ", with and without wprof-record "
	b.add(Row{Name: "slowdown of the pinned pipe benchmark, a stack of every off-CPU interval", Unit: "×", Hold: "×1.45", Limit: 1.45, Runs: all,
		Command: bench + "-Soffcpu --offcpu-min 0 -d60s -o FILE", Note: whereStacksGo})
	b.add(Row{Name: "slowdown of the pinned pipe benchmark, default recording", Unit: "×", Hold: "×1.12", Limit: 1.12, Runs: usual, Command: bench + "-d60s -o FILE"})
	return nil
}

// offcpuCost measures the recorder with a stack of every off-CPU interval: CPU, the time after the window, and memory.
func (b *bench) offcpuCost() error {
	var cpu, after, memory, bytes []float64
	programs, withoutWaits := map[string][]float64{}, map[string][]float64{}
	for range b.few() {
		idle, err := b.setupCost("-Soffcpu", "--offcpu-min", "0")
		if err != nil {
			return err
		}
		file := filepath.Join(b.tmp, "offcpu.wprof")
		// Four events a loop: two switches and two wakings.
		_, u, err := traced(nil, pipeLoop{cpu: 1, loops: 225_000}, b.tool("wprof-record"), append(everyStack, file)...)
		if err != nil {
			return err
		}
		ended := proc.Monotonic()
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		cpu = append(cpu, (u.cpu.Seconds()-idle)/float64(c.events)*1e6)
		after = append(after, float64(ended-c.close)/1e9)
		memory = append(memory, (float64(c.cost.GetPeakRss())-float64(c.cost.GetRingBytes()))/(1<<20))
		bytes = append(bytes, float64(c.size)/float64(c.events))
		if err := b.programRuns(programs, "-Soffcpu", "--offcpu-min", "0"); err != nil {
			return err
		}
		if err := b.programRuns(withoutWaits, "-Soffcpu", "--offcpu-min", "0", "-f", "no-waits"); err != nil {
			return err
		}
	}
	const command = "wprof-record -Soffcpu --offcpu-min 0 -d60s -o FILE beside taskset -c 1 perf bench sched pipe -l 225000"
	b.add(Row{Name: "recorder's CPU per million events after set-up, finalisation included, a stack of every off-CPU interval", Unit: "s", Hold: "0.3", Limit: 0.3, Runs: cpu, Command: command})
	b.add(Row{Name: "end of window to finished file, 0.9 M events with a stack of every off-CPU interval", Unit: "s", Hold: "0.3", Limit: 0.3, Runs: after, Command: command + "; CLOCK_MONOTONIC after exit less session.close"})
	b.add(Row{Name: "peak memory of the recorder beyond its rings, all stages, a stack of every off-CPU interval", Unit: "MiB", Hold: "128", Limit: 128, Runs: memory, Command: command})
	b.add(Row{Name: "stored bytes per event, a stack of every off-CPU interval", Unit: "bytes", Runs: bytes, Command: command})
	for _, name := range []string{"sched_switch", "sched_exit"} {
		b.add(Row{Name: "kernel program " + name + ", a stack of every off-CPU interval", Unit: "ns a run", Runs: programs[name], Command: command + " --stats"})
	}
	var wait []float64
	for i, ns := range programs["sched_exit"] {
		wait = append(wait, ns-withoutWaits["sched_exit"][i]+programs["sched_switch"][i]-withoutWaits["sched_switch"][i])
	}
	b.add(Row{Name: "what a thread waits for: system call, arguments, descriptor, owner of a lock", Unit: "ns a wait", Hold: "300", Limit: 300, Runs: wait,
		Command: command + " --stats, with waits less with -f no-waits: sched_exit and sched_switch"})
	return nil
}

// thresholds compares values of --offcpu-min on the machine of 2,000 sleepers, whose times off last 1 to 5 ms.
func (b *bench) thresholds() error {
	program := filepath.Join(b.tmp, "sleepers")
	if err := compile(program, "test/bench/testdata/sleepers.c"); err != nil {
		return err
	}
	file := filepath.Join(b.tmp, "sleepers.wprof")
	values := []string{"0", "100us", "1ms", "5ms", "10ms"}
	ratios := make([][]float64, len(values))
	for range b.few() {
		for i, value := range values {
			before, err := rounds(program)
			if err != nil {
				return err
			}
			tracer, err := start(nil, b.tool("wprof-record"), "-v", "-d60s", "--offcpu-min", value, "-o", file)
			if err != nil {
				return err
			}
			tracer.waitOpen()
			with, err := rounds(program)
			if _, stopErr := tracer.stop(); err == nil {
				err = stopErr
			}
			if err != nil {
				return err
			}
			ratios[i] = append(ratios[i], before/with)
		}
	}
	for i, value := range values {
		b.add(Row{Name: fmt.Sprintf("2,000 sleepers and ping-pong, --offcpu-min %s: slowdown", value), Unit: "×", Runs: ratios[i],
			Command: "test/bench/testdata/sleepers.c, with and without wprof-record -d60s --offcpu-min " + value + " -o FILE"})
	}
	return nil
}

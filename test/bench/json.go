package main

import (
	"os"
	"path/filepath"
)

// json measures wprof-json on the captures that the other renderers are measured on, and on one with many stacks. Lines go
// to /dev/null: ten times the capture makes gigabytes of them, and what is measured is the tool.
func (b *bench) json() error {
	small, large, err := b.recordLoads()
	if err != nil {
		return err
	}
	for _, c := range []converter{
		{tool: "wprof-json", out: "-o", path: os.DevNull, hold: 1.5},
		{tool: "wprof-json", args: []string{"--stream"}, out: "-o", path: os.DevNull},
		{tool: "wprof-json", args: []string{"--chrome"}, out: "-o", path: os.DevNull},
		{tool: "wprof-json", args: []string{"--firefox"}, out: "-o", path: os.DevNull, new: true},
		{tool: "wprof-json", out: "--parquet", path: filepath.Join(b.tmp, "columns"), hold: 4},
	} {
		if err := b.converter(c, small, large, 0); err != nil {
			return err
		}
	}
	return b.jsonOfStacks()
}

// jsonOfStacks measures a capture of a minute of mixed load with a stack of every block.
func (b *bench) jsonOfStacks() error {
	file, c, load, err := b.minuteOfStacks()
	if err != nil {
		return err
	}
	for _, form := range []struct {
		name string
		args []string
		hold float64
	}{
		{"wprof-json, a minute with stacks", []string{"-o", os.DevNull, file}, 1.5},
		{"wprof-json --parquet, a minute with stacks", []string{"--parquet", filepath.Join(b.tmp, "columns"), file}, 1},
	} {
		var speed, memory []float64
		for range b.few() {
			one, err := runWatched(b.tool("wprof-json"), form.args...)
			if err != nil {
				return err
			}
			speed = append(speed, float64(c.events)/one.wall.Seconds()/1e6)
			memory = append(memory, float64(one.peakRSS)/(1<<20))
		}
		command := form.name + " " + load
		b.add(Row{Name: form.name, Unit: "M events/s", Hold: number(form.hold), Limit: form.hold, AtLeast: true, Runs: speed, Command: command})
		b.add(Row{Name: form.name + ": peak memory", Unit: "MiB", Hold: "256", Limit: 256, Runs: memory, Command: command})
	}
	return nil
}

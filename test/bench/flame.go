package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// flame measures folding, on the captures that the other renderers are measured on, and drawing.
func (b *bench) flame() error {
	small, large, err := b.recordLoads()
	if err != nil {
		return err
	}
	folding := converter{tool: "wprof-flame", args: []string{"--folded"}, out: "-o", path: filepath.Join(b.tmp, "folded"), hold: 10}
	if err := b.converter(folding, small, large, 0); err != nil {
		return err
	}
	return b.drawing()
}

// drawing measures what the outputs of wprof-flame take besides folding, of a capture of a minute of mixed load.
func (b *bench) drawing() error {
	file, _, load, err := b.minuteOfStacks()
	if err != nil {
		return err
	}
	out := func(name string) string { return filepath.Join(b.tmp, "flame."+name) }
	var folding, memory, megabytes []float64
	extra := map[string][]float64{}
	for range b.few() {
		folded, err := runWatched(b.tool("wprof-flame"), "--folded="+out("folded"), file)
		if err != nil {
			return err
		}
		folding = append(folding, folded.wall.Seconds())
		memory = append(memory, float64(folded.peakRSS)/(1<<20))
		for _, form := range []string{"svg", "html"} {
			both, err := runWatched(b.tool("wprof-flame"), "--folded="+out("folded"), "--"+form+"="+out(form), file)
			if err != nil {
				return err
			}
			extra[form] = append(extra[form], max(0, both.wall.Seconds()-folded.wall.Seconds()))
		}
		st, err := os.Stat(out("svg"))
		if err != nil {
			return err
		}
		megabytes = append(megabytes, float64(st.Size())/1e6)
	}
	b.add(Row{Name: "wprof-flame, folding a minute with stacks", Unit: "s", Runs: folding, Command: "wprof-flame --folded=OUT CAPTURE " + load})
	b.add(Row{Name: "wprof-flame, folding a minute with stacks: peak memory", Unit: "MiB", Hold: "256", Limit: 256, Runs: memory, Command: "wprof-flame --folded=OUT CAPTURE " + load})
	b.add(Row{Name: "SVG of a minute, after folding", Unit: "s", Hold: "2", Limit: 2, Runs: extra["svg"], Command: "wprof-flame --folded=OUT --svg=OUT CAPTURE less wprof-flame --folded=OUT CAPTURE " + load})
	b.add(Row{Name: "SVG of a minute: size", Unit: "MB", Hold: "5", Limit: 5, Runs: megabytes, Command: "size of OUT"})
	b.add(Row{Name: "HTML page of a minute, after folding", Unit: "s", Runs: extra["html"], Command: "wprof-flame --folded=OUT --html=OUT CAPTURE less wprof-flame --folded=OUT CAPTURE " + load})
	return nil
}

// minuteOfStacks is a capture of a minute of mixed load with a stack of every block; load names it in reports.
func (b *bench) minuteOfStacks() (file string, c capture, load string, err error) {
	length := time.Minute
	if b.quick {
		length = 10 * time.Second
	}
	if file, err = b.mixedFor(length, "-Stimer=99hz", "-S+offcpu", "--offcpu-min=0"); err == nil {
		c, err = readCapture(file)
	}
	load = fmt.Sprintf("(%v of mixed load, %.1f M events, a stack of every block and 99 samples a second)", length, float64(c.events)/1e6)
	return file, c, load, err
}

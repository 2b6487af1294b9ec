package pprof

import (
	"fmt"
	"io"
	"time"

	gprofile "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// pprofValue is the index of a value of a pprof sample.
type pprofValue int

const (
	pprofSamples pprofValue = iota // samples taken on a CPU
	pprofOnCPU                     // ns on a CPU
	pprofWaits                     // number of blocks and waits for work
	pprofOffCPU                    // ns blocked, or waiting for work
	pprofDelay                     // ns runnable, waiting for a CPU
	pprofUnknown                   // ns with unknown state
	pprofWall                      // ns, all of the above

	pprofValues
)

// pprofTypes are the sample types as pprof shows them.
func pprofTypes() []*gprofile.ValueType {
	const count, ns = "count", "nanoseconds"
	return []*gprofile.ValueType{
		pprofSamples: {Type: "samples", Unit: count},
		pprofOnCPU:   {Type: "on_cpu", Unit: ns},
		pprofWaits:   {Type: "waits", Unit: count},
		pprofOffCPU:  {Type: "off_cpu", Unit: ns},
		pprofDelay:   {Type: "delay", Unit: ns},
		pprofUnknown: {Type: "unknown", Unit: ns},
		pprofWall:    {Type: "wall", Unit: ns},
	}
}

// Write writes the profile for pprof, gzipped. Of the view it uses Mode, States, NoIdleWaits and Only.
//
// Each sample is a cell. Its times are disjoint: on_cpu, off_cpu (blocked, or waiting for work), delay (runnable, waiting
// for a CPU) and unknown add up to wall, and the wall times of a thread's samples to its lifetime in the window. The label
// state is why the thread was off-CPU.
//
// The default value is on_cpu also for views of all time: blocked stacks all end in the same few kernel functions, which
// makes a poor list of functions.
func Write(w io.Writer, p *profile.Profile, v graph.View) error {
	tables := newPprofTables(p, v)
	v.EachCell(p, tables.use)
	file, err := tables.file()
	if err != nil {
		return err
	}
	out := gzip.NewWriter(w)
	samples := newPprofSampleWriter(p, v, tables, out)
	if err := samples.begin(file); err != nil {
		return err
	}
	v.EachCell(p, samples.add)
	if samples.err != nil {
		return samples.err
	}
	return out.Close()
}

// pprofNote returns the frame for why a thread was off-CPU; "" for none. [runnable] is left out without States: the sample type
// shows it, and a frame for it would hide the function that waited.
func pprofNote(v *graph.View, c *profile.Cell) string {
	if c.Class.Delay() && !v.States {
		return ""
	}
	if note := v.Note(c); note != "" || c.Stack != 0 {
		return note
	}
	return "[no stack]"
}

// file returns everything but the samples.
func (t *pprofTables) file() (*gprofile.Profile, error) {
	a := &t.p.About
	file := &gprofile.Profile{
		SampleType:        pprofTypes(),
		DefaultSampleType: pprofTypes()[pprofOnCPU].Type,
		Comments:          pprofComments(a),
		DurationNanos:     a.Window,
	}
	if t.v.Mode == graph.OffCPU || t.v.Mode == graph.Waker {
		file.DefaultSampleType = pprofTypes()[pprofOffCPU].Type
	}
	if !a.Start.IsZero() {
		file.TimeNanos = a.Start.UnixNano()
	}
	if len(a.Sources) == 1 {
		file.PeriodType, file.Period = pprofTypes()[pprofOnCPU], a.Sources[0].Period
	}
	t.fill(file)
	if err := file.CheckValid(); err != nil {
		return nil, fmt.Errorf("write a pprof profile: %w; please report this", err)
	}
	return file, nil
}

// pprofComments returns the lines that pprof -comments shows.
func pprofComments(a *profile.About) []string {
	var all []string
	if a.Host != "" {
		all = append(all, "host "+text(a.Host))
	}
	if a.Kernel != "" {
		all = append(all, "Linux "+text(a.Kernel))
	}
	for _, s := range a.Sources {
		all = append(all, fmt.Sprintf("a sample of %s every %v", text(s.Name), time.Duration(s.Period)))
	}
	if a.OffCPU != "" {
		all = append(all, "off-CPU stacks: "+text(a.OffCPU))
	}
	if a.ShortBlocks > 0 {
		all = append(all, fmt.Sprintf("left out: %v in off-CPU intervals shorter than %v", time.Duration(a.ShortBlocks), time.Duration(a.MinBlock)))
	}
	if a.IsLossy {
		all = append(all, fmt.Sprintf("events are missing: %d are known to be lost", a.Lost))
	}
	return all
}

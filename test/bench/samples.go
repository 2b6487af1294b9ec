package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wprof/format"
)

const mixedTime = 10 * time.Second

// samples measures what timer samples cost, and how many of their frames get names, under a mixed load.
func (b *bench) samples() error {
	var perRun, stored, drawn, memory []float64
	named, stripped := &naming{}, &naming{}
	for i := 0; i < b.few(); i++ {
		file, err := b.mixed("--stats", "-Stimer=997hz")
		if err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		memory = append(memory, (float64(c.cost.GetPeakRss())-float64(c.cost.GetRingBytes()))/(1<<20))
		for _, p := range c.cost.GetPrograms() {
			if p.Name == "sample" && p.Runs > 0 {
				perRun = append(perRun, float64(p.Ns)/float64(p.Runs))
			}
		}
		samples, err := named.count(file)
		if err != nil {
			return err
		}
		inStream, inTrace, err := b.sampleBytes(file, samples)
		if err != nil {
			return err
		}
		stored, drawn = append(stored, inStream), append(drawn, inTrace)
		if file, err = b.mixed("-Stimer=997hz", "stripped"); err != nil {
			return err
		}
		if _, err := stripped.count(file); err != nil {
			return err
		}
	}
	const command = "wprof-record --stats -Stimer=997hz -d10s -o FILE beside test/bench/testdata/mixed.sh"
	b.add(Row{Name: "user frames named, of those in a mapped file, mixed load with short-lived and deleted programs", Unit: "%", Hold: "99", Limit: 99, AtLeast: true,
		Runs: named.percent, Command: command, Note: named.worst()})
	b.add(Row{Name: "user frames named, with programs whose symbols the distribution has stripped", Unit: "%", Runs: stripped.percent, Command: command + " stripped", Note: stripped.worst()})
	b.add(Row{Name: "kernel program sample, both stacks, mixed load", Unit: "ns a run", Runs: perRun, Command: command})
	b.add(Row{Name: "stored bytes per sample, with the definitions that only samples need", Unit: "bytes", Runs: stored, Command: "(size of FILE - size of what wprof-filter -K sample leaves of it) / samples"})
	b.add(Row{Name: "Perfetto bytes per sample, with its interned stacks", Unit: "bytes", Runs: drawn, Command: "the same of wprof-perfetto's output"})
	b.add(Row{Name: "peak memory of the recorder beyond its rings, mixed load with stacks and names", Unit: "MiB", Hold: "128", Limit: 128, Runs: memory, Command: command})
	return nil
}

// mixed records the mixed load, and returns the capture. A last flag "stripped" goes to the load.
func (b *bench) mixed(flags ...string) (string, error) { return b.mixedFor(mixedTime, flags...) }

func (b *bench) mixedFor(length time.Duration, flags ...string) (string, error) {
	dir, err := os.MkdirTemp(b.tmp, "mixed-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"short", "pingpong"} {
		if err := compile(filepath.Join(dir, name), "test/bench/testdata/"+name+".c"); err != nil {
			return "", err
		}
	}
	args := []string{"test/bench/testdata/mixed.sh", fmt.Sprint(int(length.Seconds())), dir}
	if last := len(flags) - 1; flags[last] == "stripped" {
		args, flags = append(args, "stripped"), flags[:last]
	}
	file := filepath.Join(b.tmp, "mixed.wprof")
	tracer, err := start(nil, b.tool("wprof-record"), append([]string{"-v", "-d300s", "-o", file}, flags...)...)
	if err != nil {
		return "", err
	}
	tracer.waitOpen()
	_, err = run(nil, nil, "bash", args...)
	_, stopErr := tracer.stop()
	return file, errors.Join(err, stopErr)
}

// compile compiles a program with frame pointers, or with other flags at the end.
func compile(program, source string, flags ...string) error {
	return compileWith("gcc", program, source, flags...)
}

func compileWith(compiler, program, source string, flags ...string) error {
	args := append([]string{"-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, source}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w: %s", source, err, out)
	}
	return nil
}

// sampleBytes are the bytes a sample takes in a stream and in a Perfetto trace.
func (b *bench) sampleBytes(file string, samples int) (stream, trace float64, err error) {
	less := filepath.Join(b.tmp, "nosamples.wprof")
	if _, err := run(nil, nil, b.tool("wprof-filter"), "-K", "sample", "-o", less, file); err != nil {
		return 0, 0, err
	}
	// The filter writes its own blocks, so what it makes of the whole capture is what its output is compared with.
	whole := filepath.Join(b.tmp, "whole.wprof")
	if _, err := run(nil, nil, b.tool("wprof-filter"), "-o", whole, file); err != nil {
		return 0, 0, err
	}
	var sizes [4]int64
	for i, in := range []string{whole, less} {
		out := in + ".pb"
		if _, err := run(nil, nil, b.tool("wprof-perfetto"), "-e", "no-threads", "-o", out, in); err != nil {
			return 0, 0, err
		}
		for j, name := range []string{in, out} {
			st, err := os.Stat(name)
			if err != nil {
				return 0, 0, err
			}
			sizes[2*i+j] = st.Size()
		}
	}
	n := float64(samples)
	return float64(sizes[0]-sizes[2]) / n, float64(sizes[1]-sizes[3]) / n, nil
}

// naming counts the user frames that stand in mapped files, weighted by the samples that show them.
type naming struct {
	percent []float64 // of each capture
	frames  map[string]*shareNamed
	total   int
}

type shareNamed struct {
	path         string
	named, total int
}

// count reads a capture and returns how many samples it has.
func (n *naming) count(file string) (samples int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := format.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	defer r.Close()
	named, total := 0, 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			n.percent = append(n.percent, 100*float64(named)/float64(total))
			return samples, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", file, err)
		}
		if e.Kind != format.KindSample {
			continue
		}
		samples++
		a, b := n.stack(r, r.Stack(e.Sample().Stack()))
		named, total = named+a, total+b
	}
}

func (n *naming) stack(r *format.Reader, s *format.Stack) (named, total int) {
	if s == nil {
		return 0, 0
	}
	for _, id := range s.Frames[:len(s.Frames)-int(s.KernelFrames)] {
		f := r.Frame(id)
		m := r.Module(f.GetModule())
		if m == nil || m.Kind != uint32(format.ModuleKind_MODULE_FILE) {
			continue
		}
		share := n.of(string(m.Path))
		share.total++
		n.total++
		total++
		if len(f.Lines) > 0 {
			share.named++
			named++
		}
	}
	return named, total
}

func (n *naming) of(path string) *shareNamed {
	if n.frames == nil {
		n.frames = map[string]*shareNamed{}
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, "short-") {
		name = "short-*"
	}
	s := n.frames[name]
	if s == nil {
		s = &shareNamed{path: name}
		n.frames[name] = s
	}
	return s
}

// worst returns which files the frames without names are in.
func (n *naming) worst() string {
	list := make([]*shareNamed, 0, len(n.frames))
	for _, s := range n.frames {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *shareNamed) int {
		return (b.total - b.named) - (a.total - a.named)
	})
	var w strings.Builder
	fmt.Fprintf(&w, "%d frames", n.total)
	for i, s := range list[:min(4, len(list))] {
		if s.named == s.total {
			break
		}
		if i == 0 {
			w.WriteString("; without a name: ")
		} else {
			w.WriteString(", ")
		}
		fmt.Fprintf(&w, "%d of %d in %s", s.total-s.named, s.total, s.path)
	}
	return w.String()
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"wprof/format"
)

// bench is one run of everything.
type bench struct {
	bin     string // folder of the built tools
	against string // folder of an older version's tools, or ""
	tmp     string
	pairs   int
	quick   bool
	rows    []Row
}

func (b *bench) tool(name string) string { return filepath.Join(b.bin, name) }

func (b *bench) add(r Row) {
	b.rows = append(b.rows, r)
	lo, hi := r.Interval()
	fmt.Fprintf(os.Stderr, "%-72s %9s %s  [%s, %s]  hold %s %s\n", r.Name, number(r.Median()), r.Unit, number(lo), number(hi), r.Hold, r.Held())
}

// workload is a program that measures itself.
type workload interface{ seconds() (float64, error) }

// traced runs the workload while a tracer runs, and returns the workload's seconds and the tracer's cost.
func traced(out io.Writer, work workload, name string, args ...string) (float64, usage, error) {
	tracer, err := start(out, name, args...)
	if err != nil {
		return 0, usage{}, err
	}
	tracer.waitOpen()
	seconds, err := work.seconds()
	u, stopErr := tracer.stop()
	return seconds, u, errors.Join(err, stopErr)
}

// turn runs the workload without a recording and with one, and returns the seconds of both and what was recorded.
func (b *bench) turn(work workload, args ...string) (without, with float64, c capture, err error) {
	file := filepath.Join(b.tmp, "turn.wprof")
	if without, err = work.seconds(); err != nil {
		return 0, 0, c, err
	}
	if with, _, err = traced(nil, work, b.tool("wprof-record"), append(args, "-v", "-o", file)...); err != nil {
		return 0, 0, c, err
	}
	c, err = readCapture(file)
	return without, with, c, err
}

// capture is what a finished stream contains about itself.
type capture struct {
	events   uint64
	switches uint64
	lost     uint64
	size     int64
	stored   uint64 // bytes of event blocks
	open     int64
	close    int64
	opened   int64 // open, by the realtime clock
	cost     *format.RecorderCost
}

func readCapture(path string) (capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return capture{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return capture{}, err
	}
	r, err := format.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return capture{}, fmt.Errorf("read %s: %w", path, err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			return capture{}, fmt.Errorf("read %s: %w", path, err)
		}
	}
	c := capture{size: st.Size(), open: r.FirstOpen()}
	if clocks := r.Session().GetClocks(); len(clocks) > 0 {
		c.opened = clocks[0].Realtime + c.open - clocks[0].Monotonic
	}
	end := r.End()
	for _, k := range end.GetKinds() {
		c.events += k.Events
		if format.Kind(k.Kind) == format.KindSwitch {
			c.switches += k.Events
		}
	}
	for _, l := range end.GetLosses() {
		c.lost += l.Count
	}
	c.close = end.GetClose()
	c.stored, c.cost = end.GetStoredBytes(), end.GetCost()
	return c, nil
}

// endOf is the end block of a capture's last section, found by its footer.
func endOf(path string) (*format.End, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sections, err := format.ReadSummary(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("read the end of %s: %w", path, err)
	}
	if len(sections) == 0 {
		return nil, fmt.Errorf("%s has no section", path)
	}
	return sections[len(sections)-1].End, nil
}

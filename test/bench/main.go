package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built tools")
	out := flag.String("out", "docs/performance.md", "report to write")
	raw := flag.String("raw", "docs/performance.json", "every run, for the next report to compare with")
	pairs := flag.Int("pairs", 20, "interleaved pairs for each slowdown")
	quick := flag.Bool("quick", false, "few runs, and no report: for use between two changes")
	only := flag.String("only", "", "one part: "+strings.Join(parts(), ", "))
	page := flag.Bool("page", false, "only write the report again from its runs")
	against := flag.String("against", "", "folder of an older version's tools, named after its commit: converters run in turns with them")
	what := flag.String("read", "", "only read `WHAT`, symbols, lines or table, of the ELF file that is the argument, and print counts and seconds")
	flag.Parse()
	if *what != "" {
		if err := readELF(*what, flag.Arg(0)); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *page {
		if err := report(*out, *raw, nil, true); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	b := &bench{bin: *bin, against: *against, pairs: *pairs, quick: *quick}
	if err := b.measure(*out, *raw, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is a group of figures that are measured together.
type part struct {
	name string
	run  func(*bench) error
}

func allParts() []part {
	return []part{
		{"programs", (*bench).programs}, {"slowdown", (*bench).slowdown}, {"sleepers", (*bench).sleepers}, {"creation", (*bench).creation},
		{"start", (*bench).startUp}, {"cost", (*bench).recorderCost}, {"loss", (*bench).losses}, {"live", (*bench).live},
		{"idle", (*bench).idle}, {"offcpu", (*bench).offcpu}, {"unwind", (*bench).unwind}, {"tables", (*bench).tables}, {"samples", (*bench).samples}, {"symbols", (*bench).symbols}, {"lines", (*bench).lines},
		{"convert", (*bench).converters}, {"flame", (*bench).flame}, {"json", (*bench).json}, {"typed", (*bench).typed}, {"syscalls", (*bench).calls}, {"events", (*bench).eventCosts}, {"probes", (*bench).probes}, {"flight", (*bench).flightRecorder}, {"everything", (*bench).everything}, {"sources", (*bench).sources},
		{"wallclock", (*bench).wallclock}, {"tests", (*bench).tests},
	}
}

func parts() []string {
	var names []string
	for _, p := range allParts() {
		names = append(names, p.name)
	}
	return names
}

func (b *bench) measure(out, raw, only string) error {
	tmp, err := os.MkdirTemp("", "wprof-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b.tmp = tmp
	if b.quick {
		b.pairs = min(b.pairs, 4)
	}
	ran := false
	for _, p := range allParts() {
		if only != "" && only != p.name {
			continue
		}
		ran = true
		if err := p.run(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !ran {
		return fmt.Errorf("there is no part %q", only)
	}
	if b.quick {
		return nil
	}
	return report(out, raw, b.rows, only != "")
}

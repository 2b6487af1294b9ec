package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built tools")
	out := flag.String("out", "docs/performance.md", "report to write")
	raw := flag.String("raw", "docs/performance.json", "every run, for the next report to compare with")
	pairs := flag.Int("pairs", 20, "interleaved pairs for each slowdown")
	quick := flag.Bool("quick", false, "few runs, and no report: a look between two changes")
	only := flag.String("only", "", "one part: programs, slowdown, start, cost, loss, live, idle, convert")
	flag.Parse()
	if err := measure(*bin, *out, *raw, *pairs, *quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(bin, out, raw string, pairs int, quick bool, only string) error {
	tmp, err := os.MkdirTemp("", "wprof-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b := &bench{bin: bin, tmp: tmp, pairs: pairs, quick: quick}
	if quick {
		b.pairs = min(pairs, 4)
	}
	parts := []struct {
		name string
		run  func() error
	}{
		{"programs", b.programs}, {"slowdown", b.slowdown}, {"start", b.startUp}, {"cost", b.recorderCost},
		{"loss", b.losses}, {"live", b.live}, {"idle", b.idle},
		{"convert", b.converters},
	}
	ran := false
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		ran = true
		if err := p.run(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !ran {
		return fmt.Errorf("there is no part %q", only)
	}
	if quick {
		return nil
	}
	return report(out, raw, b.rows, only != "")
}

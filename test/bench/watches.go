package main

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strconv"
)

// watched is a program that writes a variable which a breakpoint watches.
type watched struct {
	program string
	address uint64
	writes  int
}

func newWatched(dir string) (w watched, err error) {
	w = watched{program: filepath.Join(dir, "stores"), writes: 50_000}
	if err := compile(w.program, "test/bench/testdata/stores.c", "-no-pie"); err != nil {
		return w, err
	}
	file, err := elf.Open(w.program)
	if err != nil {
		return w, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return w, err
	}
	for _, s := range symbols {
		if s.Name == "value" {
			w.address = s.Value
			return w, nil
		}
	}
	return w, fmt.Errorf("%s has no symbol of its variable", w.program)
}

// hitNs runs the program as the command of a tracer, and returns what each write took, ns.
func (w *watched) hitNs(tracer ...string) (float64, error) {
	all := append(tracer, w.program, strconv.Itoa(w.writes))
	u, err := run(nil, nil, all[0], all[1:]...)
	if err != nil {
		return 0, err
	}
	var s float64
	if _, err := fmt.Sscan(u.out, &s); err != nil {
		return 0, fmt.Errorf("%s printed %q: %w", w.program, u.out, err)
	}
	return s * 1e9 / float64(w.writes), nil
}

// watches compares what a hit of --watch takes from its program with one of perf's mem: events, in turns.
func (b *bench) watches() error {
	w, err := newWatched(b.tmp)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what       string
		ours, perf []string
	}{
		{"without stacks", []string{"--no-stacks"}, nil},
		{"with stacks", nil, []string{"-g"}},
	} {
		if err := b.watch(&w, c.what, c.ours, c.perf); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) watch(w *watched, what string, flags, perfFlags []string) error {
	file := filepath.Join(b.tmp, "watch.wprof")
	event := fmt.Sprintf("mem:%#x/4:w", w.address)
	ours := append([]string{b.tool("wprof-record"), "--watch", "value", "-f", "no-sched,no-wakeup,no-samples", "-o", file}, flags...)
	perf := append([]string{"perf", "record", "-q", "-N", "-B", "-e", event, "-c", "1", "-o", filepath.Join(b.tmp, "watch.perf")}, perfFlags...)
	var hit, peer, ratio, lost []float64
	for range b.turns(7) {
		our, err := w.hitNs(append(ours, "--")...)
		if err != nil {
			return err
		}
		other, err := w.hitNs(perf...)
		if err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		hit, peer, ratio, lost = append(hit, our), append(peer, other), append(ratio, our/other), append(lost, float64(c.lost))
	}
	command := fmt.Sprintf("wprof-record --watch value -f no-sched,no-wakeup,no-samples %s-o FILE -- test/bench/testdata/stores.c %d, and perf record -e %s -c 1 %swith it, in turns",
		joined(flags), w.writes, event, joined(perfFlags))
	b.add(Row{Name: "a hit of --watch, with the value before and after, " + what, Unit: "ns a hit", Runs: hit, Command: command})
	b.add(Row{Name: "a hit of a breakpoint of perf record, " + what, Unit: "ns a hit", Runs: peer, Command: command})
	b.add(Row{Name: "a hit of --watch by perf's, " + what, Unit: "×", Hold: "×1", Limit: 1, Runs: ratio, Command: command})
	b.add(Row{Name: "hits of --watch lost, " + what, Unit: "events", Hold: "0", Runs: lost, Command: command})
	return nil
}

// joined are flags with a space after each.
func joined(flags []string) (text string) {
	for _, f := range flags {
		text += f + " "
	}
	return text
}

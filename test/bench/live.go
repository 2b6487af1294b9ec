package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"wprof/format"
	"wprof/internal/proc"
)

// live measures the time from an event until this program has it, which reads --live from a pipe and looks
// at the clock for each one.
func (b *bench) live() error {
	var half, most []float64
	for i := 0; i < b.few(); i++ {
		delays, err := b.delays()
		if err != nil {
			return err
		}
		half, most = append(half, delays[len(delays)/2]), append(most, delays[len(delays)-1])
	}
	const command = "wprof-record --live -d5s | READER beside taskset -c 1 perf bench sched pipe -l 150000"
	b.add(Row{Name: "--live: from a switch to its event in the next program, slowest of a run", Unit: "ms", Hold: "100", Limit: 100, Runs: most, Command: command})
	b.add(Row{Name: "--live: from a switch to its event in the next program, median of a run", Unit: "ms", Runs: half, Command: command})
	return nil
}

// delays are those of all switches of one recording, ms, in order.
func (b *bench) delays() ([]float64, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	tracer, err := start(in, b.tool("wprof-record"), "-v", "--live", "-d5s")
	in.Close()
	if err != nil {
		return nil, err
	}
	worked := make(chan error, 1)
	go func() {
		tracer.waitOpen()
		_, err := pipeLoop{cpu: 1, loops: pipeLoops}.seconds()
		worked <- err
	}()
	delays, err := readDelays(out)
	if err != nil {
		return nil, err
	}
	if err := <-worked; err != nil {
		return nil, err
	}
	if err := tracer.cmd.Wait(); err != nil {
		return nil, fmt.Errorf("wprof-record --live: %w: %s", err, tracer.stderr.String())
	}
	if len(delays) == 0 {
		return nil, errors.New("wprof-record --live has written no switch")
	}
	slices.Sort(delays)
	return delays, nil
}

func readDelays(from io.Reader) ([]float64, error) {
	r, err := format.NewReader(from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var delays []float64
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return delays, nil
		}
		if err != nil {
			return nil, err
		}
		if e.Kind != format.KindSwitch {
			continue
		}
		delays = append(delays, float64(proc.Monotonic()-e.Time)/1e6)
	}
}

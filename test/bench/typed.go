package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// typed measures reading events of a defined type with three integer fields.
func (b *bench) typed() error {
	const command = "go test -run '^$' -bench Typed ./format"
	var speed, bytes, allocated []float64
	figures := regexp.MustCompile(`([0-9.]+) Mevents/s\s+([0-9.]+) bytes/event\s+[0-9]+ B/op\s+([0-9]+) allocs/op`)
	u, err := run(nil, nil, "go", "test", "-run", "^$", "-bench", "Typed", "-count", strconv.Itoa(b.few()), "./format")
	if err != nil {
		return err
	}
	for _, m := range figures.FindAllStringSubmatch(u.out, -1) {
		for i, to := range []*[]float64{&speed, &bytes, &allocated} {
			v, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return err
			}
			*to = append(*to, v)
		}
	}
	if len(speed) == 0 {
		return fmt.Errorf("%s printed no figures: %q", command, u.out)
	}
	b.add(Row{Name: "reading events of a defined type with three integer fields", Unit: "M events/s", Hold: "5", Limit: 5, AtLeast: true, Runs: speed, Command: command})
	b.add(Row{Name: "stored bytes of such an event, zstd", Unit: "bytes", Hold: "8", Limit: 8, Runs: bytes, Command: command})
	b.add(Row{Name: "allocations to read 200,000 of them, all for the section and its blocks", Unit: "", Runs: allocated, Command: command})
	return nil
}

package main

// tests measures how long scripts/test takes, as root with everything installed.
func (b *bench) tests() error {
	for _, t := range []struct {
		name string
		args []string
		hold Row
	}{
		{"scripts/test", nil, Row{Hold: "480", Limit: 480}},
		{"scripts/test --fast", []string{"--fast"}, Row{Hold: "180", Limit: 180}},
	} {
		u, err := run(nil, nil, "scripts/test", t.args...)
		if err != nil {
			return err
		}
		row := t.hold
		row.Name, row.Unit, row.Runs, row.Command = t.name, "s", []float64{u.wall.Seconds()}, t.name
		b.add(row)
		b.add(Row{Name: t.name + ": CPU time", Unit: "s", Runs: []float64{u.cpu.Seconds()}, Command: t.name})
	}
	return nil
}

package ndjson

import (
	"io"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/columns"
)

// columns writes Parquet files. None appears before all are complete.
func (j *job) columns() error {
	r, err := format.NewReader(j.in)
	if err != nil {
		return cli.InputError("convert", j.name, err)
	}
	defer r.Close()
	folder, err := j.inv.CreateFolder(j.parquet)
	if err != nil {
		return err
	}
	var outputs []*cli.Output
	create := func(name string) (io.Writer, error) {
		out, err := folder.Create(name)
		if err == nil {
			outputs = append(outputs, out)
		}
		return out, err
	}
	defer func() {
		for _, out := range outputs {
			out.Abort()
		}
	}()
	done, err := columns.Write(r, create, columns.Options{Kinds: j.Kinds, NoStacks: j.NoStacks, NUMA: j.NUMA})
	if err != nil && !endsWell(err) {
		return cli.InputError("convert", j.name, err)
	}
	for _, out := range outputs {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return j.verdict(Result{Events: done.Events, Lost: done.Lost, NotUTF8: done.NotUTF8, Damage: r.Damage()}, err)
}

package ndjson

import (
	"io"
	"runtime/debug"
	"slices"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/columns"
)

// columnsMemory is from how many bytes on garbage is collected sooner. What a Parquet file's footer has to tell of its parts
// is kept until the file is complete, some 0.4 bytes an event: a long capture has more of it than of anything else, and
// should not have room for as much garbage besides.
const columnsMemory = 192 << 20

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
	defer folder.Abort()
	debug.SetMemoryLimit(columnsMemory)
	options := columns.Options{Kinds: j.Kinds, NoStacks: j.NoStacks, NUMA: j.NUMA}
	if err := staysAlone(folder, j.parquet, columns.Files(options)); err != nil {
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
	done, err := columns.Write(r, create, options)
	if err != nil && !endsWell(err) {
		return cli.InputError("convert", j.name, err)
	}
	for _, out := range outputs {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	return j.verdict(Result{Events: done.Events, Lost: done.Lost, Forgotten: done.Forgotten, NotUTF8: done.NotUTF8, Damage: r.Damage()}, err)
}

// staysAlone refuses a folder with files of another capture that would stay beside those that are written: queries over them
// would mix the two.
func staysAlone(folder *cli.Folder, path string, written []string) error {
	for _, name := range columns.Files(columns.Options{}) {
		if !slices.Contains(written, name) && folder.Has(name) {
			return cli.Failf("write %s: %s is there from before, and would not be of the same capture; remove it, or name another folder", path, name)
		}
	}
	return nil
}

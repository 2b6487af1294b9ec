package ndjson

import (
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/columns"
)

// columnsMemory is from how many bytes on garbage is collected sooner. What a Parquet file's footer has to tell of its parts
// is kept until the file is complete, some 0.4 bytes an event: a long capture has more of it than of anything else, and
// should not have room for as much garbage besides.
const columnsMemory = 192 << 20

// columns writes Parquet files. None appears before all are complete.
func (j *job) columns() error {
	r, err := j.in.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	folder, err := j.inv.CreateFolder(j.parquet)
	if err != nil {
		return err
	}
	defer folder.Abort()
	debug.SetMemoryLimit(columnsMemory)
	options := columns.Options{Kinds: j.Kinds, NoStacks: j.NoStacks, NUMA: j.NUMA}
	files := columns.Files(options)
	before, err := folder.Names()
	if err != nil {
		return err
	}
	if err := staysAlone(before, j.parquet, files); err != nil {
		return err
	}
	var outputs []*cli.Output
	create := func(name string) (io.Writer, error) {
		files = append(files, name)
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
	if err == nil || cli.EndsWell(err) {
		if err := typesStayAlone(before, j.parquet, files); err != nil {
			return err
		}
	}
	result := Result{Events: done.Events, Lost: done.Lost, Forgotten: done.Forgotten, NotUTF8: done.NotUTF8, Damage: r.Damage()}
	return j.finish(result, err, outputs...)
}

// staysAlone refuses a folder with files of another capture that would stay beside those that are written: queries over them
// would mix the two.
func staysAlone(before []string, path string, written []string) error {
	for _, name := range columns.Files(columns.Options{}) {
		if !slices.Contains(written, name) && slices.Contains(before, name) {
			return wouldStay(path, name)
		}
	}
	return nil
}

// typesStayAlone does so for files of event types, which are known when all has been read.
func typesStayAlone(before []string, path string, written []string) error {
	for _, name := range before {
		if strings.HasPrefix(name, columns.TypePrefix) && strings.HasSuffix(name, columns.Extension) && !slices.Contains(written, name) {
			return wouldStay(path, name)
		}
	}
	return nil
}

func wouldStay(path, name string) error {
	return cli.Failf("write %s: %s is there from before, and would not be of the same capture; remove it, or name another folder", path, name)
}

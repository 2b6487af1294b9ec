package ndjson

import (
	"io"
	"runtime/debug"
	"slices"

	"wprof/internal/cli"
	"wprof/internal/columns"
)

// columnsMemory is the memory limit for Go's runtime, from which garbage is collected more often. Open row groups, and what the
// footers say of written ones (0.04 bytes per event), are kept; garbage must not double them.
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
	options := columns.Options{Kinds: j.Kinds, NoStacks: j.NoStacks, NUMA: j.NUMA, Python: j.Python}
	files := columns.Files(options)
	before, err := folder.Names()
	if err != nil {
		return err
	}
	if err := refuseOtherFiles(before, j.parquet, files); err != nil {
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
		if err := refuseOtherTypes(before, j.parquet, files); err != nil {
			return err
		}
	}
	result := Result{Events: done.Events, Lost: done.Lost, DroppedThreads: done.DroppedThreads, NotUTF8: done.NotUTF8, Damage: r.Damage()}
	return j.finish(result, err, outputs...)
}

// refuseOtherFiles refuses a folder with files of another capture that would remain beside the new ones, because queries would
// mix the two.
func refuseOtherFiles(before []string, path string, written []string) error {
	for _, name := range columns.Files(columns.Options{}) {
		if !slices.Contains(written, name) && slices.Contains(before, name) {
			return wouldRemain(path, name)
		}
	}
	return nil
}

// refuseOtherTypes does so for the files of event types, which are known once everything has been read.
func refuseOtherTypes(before []string, path string, written []string) error {
	for _, name := range before {
		if columns.IsOfType(name) && !slices.Contains(written, name) {
			return wouldRemain(path, name)
		}
	}
	return nil
}

func wouldRemain(path, name string) error {
	return cli.Failf("write %s: it has a file %s of an earlier conversion, which would mix with the new ones; remove it, or choose another folder", path, name)
}

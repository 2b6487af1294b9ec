package length

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"wprof/internal/records"
)

// isNothing expects no output.
func isNothing(out io.Reader) check {
	n, err := io.Copy(io.Discard, out)
	return func(written) error {
		if err == nil && n > 0 {
			err = fmt.Errorf("%d bytes came out of standard output", n)
		}
		return err
	}
}

// areColumns expects a row for every event and stack.
func areColumns(folder string) check {
	return func(w written) error {
		for _, k := range records.Kinds() {
			if k.Source == 0 {
				continue
			}
			if err := hasRows(folder, k.Name, w.kinds[k.Source]); err != nil {
				return err
			}
		}
		return hasRows(folder, "stacks", w.stacks)
	}
}

func hasRows(folder, name string, want uint64) error {
	f, err := os.Open(filepath.Join(folder, "columns", name+".parquet"))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	columns, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if got := uint64(columns.NumRows()); got != want {
		return fmt.Errorf("%s has %d rows, want %d", f.Name(), got, want)
	}
	return nil
}

// Command gen generates code and text from the table of event kinds: the accessors of package format and the tables in
// FORMAT.md. It runs in the folder of package format: go generate ./format.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	outputs, err := generate(dir)
	if err != nil {
		return err
	}
	for _, o := range outputs {
		if err := os.WriteFile(o.path, o.text, 0o644); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	return nil
}

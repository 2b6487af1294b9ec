// Command gen writes layout_gen.go: the offsets, sizes and numbers of bpf/records.h, from the BTF of the compiled kernel
// programs that are its arguments. It runs in the folder of package ringdata, after go generate ./bpf.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(objects []string) error {
	code, err := generate(objects)
	if err != nil {
		return err
	}
	return os.WriteFile("layout_gen.go", code, 0o644)
}

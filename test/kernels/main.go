package main

import (
	"fmt"
	"os"
)

const (
	resultsFolder = "build/kernels"
	pageFile      = "docs/kernels.md"
	packagesFile  = "test/kernels/packages"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

// run writes the page also if tests have failed, and then fails.
func run() error {
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(packagesFile)
	if err != nil {
		return err
	}
	results, err := readResults(resultsFolder)
	if err != nil {
		return fmt.Errorf("read what the tests have left: %w", err)
	}
	written, err := replaceWritten(string(page), report(results, parsePackages(string(list))))
	if err != nil {
		return fmt.Errorf("write %s: %w", pageFile, err)
	}
	if err := os.WriteFile(pageFile, []byte(written), 0o644); err != nil {
		return err
	}
	return check(results, listedSkips(written))
}

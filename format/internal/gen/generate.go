package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// output is one generated file as it should be.
type output struct {
	path string
	text []byte
}

// generate makes every output of the package in dir, without writing it.
func generate(dir string) ([]output, error) {
	code, err := accessors()
	if err != nil {
		return nil, err
	}
	docPath := filepath.Join(dir, "FORMAT.md")
	doc, err := os.ReadFile(docPath)
	if err != nil {
		return nil, fmt.Errorf("read the specification: %w", err)
	}
	if doc, err = replaceTables(doc); err != nil {
		return nil, err
	}
	return []output{{filepath.Join(dir, "accessors_gen.go"), code}, {docPath, doc}}, nil
}

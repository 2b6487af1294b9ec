//go:build linux

package sql

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// answer is what an engine answers to a block. Numbers are [json.Number].
type answer struct {
	Name    string
	Columns []string
	Rows    [][]any
}

// runSQL runs blocks in an engine, in a folder.
func runSQL(t testing.TB, engine, dir string, blocks []block) []answer {
	t.Helper()
	in, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/run_sql.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", script, engine)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+engines(t))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", engine, err, stderr.String())
	}
	var answers []answer
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&answers); err != nil {
		t.Fatalf("%s: %v in %q", engine, err, out)
	}
	return answers
}

// engines is the folder of both, and of pandas. Where they are missing the test is skipped, or fails if all tests have to run.
func engines(t testing.TB) string {
	t.Helper()
	folder, err := filepath.Abs("../../build/sql")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(folder, ".complete"))
	switch {
	case err == nil:
	case os.Getenv("CI") != "" || os.Getenv("WPROF_TEST_ALL") != "":
		t.Fatal("DuckDB and chDB are missing; scripts/fetch-sql downloads them")
	default:
		t.Skip("DuckDB and chDB are missing; scripts/fetch-sql downloads them")
	}
	return folder
}

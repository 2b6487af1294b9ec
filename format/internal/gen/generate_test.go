package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const packageDir = "../.."

func TestGeneratedFilesAreCurrent(t *testing.T) {
	outputs, err := generate(packageDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		got, err := os.ReadFile(o.path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, o.text) {
			t.Errorf("%s does not match the table of kinds: run go generate ./format", filepath.Base(o.path))
		}
	}
}

func TestProtobufCodeIsCurrent(t *testing.T) {
	for _, tool := range []string{"protoc", "protoc-gen-go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	dir := t.TempDir()
	cmd := exec.Command("protoc", "--go_out="+dir, "--go_opt=paths=source_relative", "wprof.proto")
	cmd.Dir = packageDir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "wprof.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(packageDir, "wprof.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(afterVersions(got), afterVersions(want)) {
		t.Error("wprof.pb.go does not match wprof.proto: run go generate ./format")
	}
}

// afterVersions is the code without the comments at its top, which name the version of the compiler.
func afterVersions(code []byte) []byte {
	_, code, _ = bytes.Cut(code, []byte("\npackage "))
	return code
}

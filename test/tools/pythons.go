package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Pythons returns the interpreters of this machine whose frames can be recorded: Debian's, those that pyenv has built, and those in the folder that
// WPROF_TEST_PYTHONS names, each in a folder of its own as bin/python3.
func Pythons(t testing.TB) (all []string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	patterns := []string{"/usr/bin/python3", filepath.Join(home, ".pyenv/versions/3.*/bin/python3")}
	if folder := os.Getenv("WPROF_TEST_PYTHONS"); folder != "" {
		patterns = append(patterns, filepath.Join(folder, "*/bin/python3"))
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		for _, python := range found {
			if err := exec.Command(python, "-c", "import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 15))").Run(); err == nil {
				all = append(all, python)
			}
		}
	}
	if len(all) == 0 {
		t.Skip("python3 is not installed")
	}
	return all
}

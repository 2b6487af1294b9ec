package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Rubies returns the interpreters of this machine whose frames can be recorded: Debian's, and those in the folder that WPROF_TEST_RUBIES names, each
// in a folder of its own as bin/ruby.
func Rubies(t testing.TB) (all []string) {
	t.Helper()
	found := []string{"/usr/bin/ruby"}
	if folder := os.Getenv("WPROF_TEST_RUBIES"); folder != "" {
		more, _ := filepath.Glob(filepath.Join(folder, "*/bin/ruby"))
		found = append(found, more...)
	}
	for _, ruby := range found {
		if exec.Command(ruby, "-e", `exit RUBY_ENGINE == "ruby" && %w[3.1 3.3].include?(RUBY_VERSION[0, 3])`).Run() == nil {
			all = append(all, ruby)
		}
	}
	if len(all) == 0 {
		t.Skip("ruby is not installed")
	}
	return all
}

package tools

import (
	"os"
	"os/exec"
	"testing"
)

// Torch returns an interpreter that has PyTorch: the one that WPROF_TEST_TORCH names, or one of [Pythons].
func Torch(t testing.TB) string {
	t.Helper()
	if python := os.Getenv("WPROF_TEST_TORCH"); python != "" {
		return python
	}
	for _, python := range Pythons(t) {
		if err := exec.Command(python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))").Run(); err == nil {
			return python
		}
	}
	t.Skip("PyTorch is not installed")
	return ""
}

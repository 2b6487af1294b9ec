//go:build linux && amd64

package e2e

import (
	"os/exec"
	"slices"
	"testing"

	"wprof/test/tools"
)

// pythonsWithTasks are those whose tasks know what awaits them.
func pythonsWithTasks(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(tools.Pythons(t), func(python string) bool {
		return exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 14))").Run() != nil
	})
	if len(all) == 0 {
		t.Skip("no python3 of 3.14 or later is installed")
	}
	return all
}

// Each stack of a task has what awaits it, as asyncio itself says it.
func TestPythonStacksHaveWhatAwaitsTheirTask(t *testing.T) {
	tools.NeedPrivilege(t)
	said, taken := recordPythons(t, pythonsWithTasks(t), "testdata/python/tasks.py")
	for python, log := range said {
		t.Run(pythonName(python), func(t *testing.T) { checkPython(t, log.Stays, taken) })
	}
}

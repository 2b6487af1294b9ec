//go:build linux

package report

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "scenario", Source: "testdata/main.c", Flags: []string{"testdata/truth.c", "testdata/cpu.c", "testdata/locks.c",
		"testdata/outside.c", "testdata/quiet.c", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"}},
		tools.C{Name: "sources", Source: "testdata/sources.c", Flags: []string{"testdata/truth.c", "-pthread"}})
}

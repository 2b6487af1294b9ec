package length

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "load", Source: "testdata/load.c", Flags: []string{"-pthread"}},
		tools.C{Name: "fast", Source: "testdata/fast.c", Flags: []string{"-pthread"}})
}

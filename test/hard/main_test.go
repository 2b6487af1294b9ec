package hard

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "nested", Source: "testdata/nested.c", Flags: []string{"-pthread"}},
		tools.C{Name: "newcode", Source: "../length/testdata/load.c", Flags: []string{"-pthread"}})
}

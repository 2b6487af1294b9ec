//go:build linux

package stress

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m,
		tools.C{Name: "crowd", Source: "testdata/crowd.c", Flags: []string{"-pthread"}},
		tools.C{Name: "forks", Source: "testdata/forks.c"},
		tools.C{Name: "renames", Source: "testdata/renames.c", Flags: []string{"-pthread"}},
		tools.C{Name: "named", Source: "testdata/named.c", Flags: []string{"-pthread"}},
		tools.C{Name: "reuse", Source: "testdata/reuse.c", Flags: []string{"-pthread"}},
		tools.C{Name: "together", Source: "testdata/together.c", Flags: []string{"-pthread"}},
		tools.C{Name: "nested", Source: "testdata/nested.c", Flags: []string{"-pthread"}},
		tools.C{Name: "spins-id", Source: "../e2e/testdata/hot.c", Flags: []string{"-DPAD=3", "-Wl,--build-id"}},
		tools.C{Name: "spins-no-id", Source: "../e2e/testdata/hot.c", Flags: []string{"-DPAD=11", "-Wl,--build-id=none"}},
		tools.C{Name: "newcode", Source: "../length/testdata/load.c", Flags: []string{"-pthread"}},
		tools.C{Name: "burns", Source: "testdata/burns.c"},
	)
}

//go:build linux

package ending

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	// Recorders mostly wait, and so do their tests: more of them at once than there are CPUs.
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "6")
	}
	tools.Main(m, tools.C{Name: "stamps", Source: "testdata/stamps.c", Flags: []string{"-pthread"}},
		tools.C{Name: "maps", Source: "testdata/maps.c"},
		tools.C{Name: "steady", Source: "testdata/steady.c", Flags: []string{"-O1", "-fno-omit-frame-pointer"}},
		tools.C{Name: "onlynames", Source: "testdata/onlynames.c"})
}

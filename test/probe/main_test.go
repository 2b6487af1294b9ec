//go:build linux

package probe

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m,
		tools.C{Name: "known", Source: "testdata/known.c", Flags: []string{"testdata/plain.c", "-pthread", "-fno-omit-frame-pointer", "-ldl"}},
		tools.C{Name: "libknown.so", Source: "testdata/library.c", Flags: []string{"-shared", "-fPIC"}},
		tools.C{Name: "many", Source: "testdata/many.c"},
		tools.C{Name: "requests", Source: "testdata/requests.c", Flags: []string{"-fno-omit-frame-pointer"}},
		tools.C{Name: "known-cc", Source: "testdata/known.cc", Flags: []string{"-g", "-lstdc++"}},
		tools.C{Name: "watched", Source: "testdata/watched.c", Flags: []string{"-g", "-pthread"}},
		tools.C{Name: "programs.bpf.o", Source: "testdata/programs.bpf.c", Compiler: "clang-19", Flags: []string{"-target", "bpf", "-g", "-c"}},
		tools.C{Name: "watched-fixed", Source: "testdata/watched.c", Flags: []string{"-g", "-pthread", "-no-pie"}},
		tools.C{Name: "server", Source: "testdata/server.c", Flags: []string{"-g", "-pthread"}},
	)
}

package symbolize

import (
	"fmt"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/symbol"
)

// The files with the most frames are named, most first, and the others are counted.
func TestAbsentFilesAreListed(t *testing.T) {
	const provide = "; --debug-dir, --debuginfod or --symbol-archive can provide "
	for _, c := range []struct {
		frames []int // of /0, /1 and so on
		want   string
	}{
		{nil, ""},
		{[]int{1}, `1 file was not found, so that 1 frame has no name: "/0"` + provide + "it"},
		{[]int{1, 2}, `2 files were not found, so that 3 frames have no names: "/1", "/0"` + provide + "them"},
		{[]int{1, 2, 1, 1}, `4 files were not found, so that 5 frames have no names: "/1", "/0", "/2" and 1 other` + provide + "them"},
		{[]int{1, 1, 7, 1, 9}, `5 files were not found, so that 19 frames have no names: "/4", "/2", "/0" and 2 others` + provide + "them"},
	} {
		var a absent
		for i, n := range c.frames {
			for range n {
				a.add(fmt.Appendf(nil, "/%d", i), 1)
			}
		}
		if got := a.warning(); got != c.want {
			t.Errorf("%d: got %q, want %q", c.frames, got, c.want)
		}
	}
}

// Beyond the limit, frames are counted, but no more paths are kept.
func TestAbsentFilesTakeBoundedMemory(t *testing.T) {
	var a absent
	for i := range maxAbsent + 10 {
		a.add(fmt.Appendf(nil, "/%d", i), 2)
	}
	want := fmt.Sprintf("at least %d files were not found, so that %d frames have no names: ", maxAbsent, 2*(maxAbsent+10))
	if got := a.warning(); len(a.frames) != maxAbsent || !strings.HasPrefix(got, want) {
		t.Errorf("%d paths are kept, and the warning is %q, want %q", len(a.frames), got, want)
	}
}

// Only files that could be somewhere count.
func TestFilesThatAreInNoFolderAreNotAbsent(t *testing.T) {
	r := &finder{Resolver: symbol.NewResolver(symbol.Options{})}
	defer r.Resolver.Close()
	for path, kind := range map[string]format.ModuleKind{
		"/nonexistent/program": format.ModuleKind_MODULE_FILE, "/memfd:code": format.ModuleKind_MODULE_FILE, "/tmp/perf-1.map": format.ModuleKind_MODULE_JIT,
	} {
		m := &format.Module{Path: []byte(path), BuildId: []byte(path), Kind: uint32(kind)}
		if err := r.Names(m, make([]symbol.Address, 3), make([]symbol.Name, 3)); err != nil {
			t.Fatal(err)
		}
		r.countUnnamed(m, 3)
	}
	if len(r.absent.frames) != 1 || r.absent.frames["/nonexistent/program"] != 3 {
		t.Errorf("got %v, want 3 frames of one file", r.absent.frames)
	}
}

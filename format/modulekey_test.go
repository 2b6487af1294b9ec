package format_test

import (
	"testing"

	"wprof/format"
)

func TestModuleKeysDistinguishCode(t *testing.T) {
	const file, kernelModule, jit = uint32(format.ModuleKind_MODULE_FILE), uint32(format.ModuleKind_MODULE_KERNEL_MODULE), uint32(format.ModuleKind_MODULE_JIT)
	for _, c := range []struct {
		what string
		a, b *format.Module
		same bool
	}{
		{"another inode with the same build-id", &format.Module{Kind: file, Path: []byte("/a"), BuildId: []byte("1"), Inode: 1}, &format.Module{Kind: file, Path: []byte("/a"), BuildId: []byte("1"), Inode: 2}, true},
		{"another path with the same build-id", &format.Module{Kind: file, Path: []byte("/a"), BuildId: []byte("1")}, &format.Module{Kind: file, Path: []byte("/b"), BuildId: []byte("1")}, false},
		{"another path to the same file", &format.Module{Kind: file, Path: []byte("/a"), Inode: 1}, &format.Module{Kind: file, Path: []byte("/b"), Inode: 1}, true},
		{"an overwritten file", &format.Module{Kind: file, Path: []byte("/a"), Inode: 1, Mtime: 1}, &format.Module{Kind: file, Path: []byte("/a"), Inode: 1, Mtime: 2}, false},
		{"a kernel module loaded again elsewhere", &format.Module{Kind: kernelModule, Path: []byte("[a]"), Base: 1}, &format.Module{Kind: kernelModule, Path: []byte("[a]"), Base: 2}, false},
		{"the next program of a process", &format.Module{Kind: jit, Path: []byte("/tmp/perf-1.map"), Generation: 1}, &format.Module{Kind: jit, Path: []byte("/tmp/perf-1.map"), Generation: 2}, false},
	} {
		if got := c.a.Key() == c.b.Key(); got != c.same {
			t.Errorf("%s: the keys are equal: %v, want %v", c.what, got, c.same)
		}
	}
	a, known := (&format.Module{Kind: file, Path: []byte("/a"), BuildId: []byte("1")}).Key().BuildID()
	if b, _ := (&format.Module{Kind: file, Path: []byte("/b"), BuildId: []byte("1")}).Key().BuildID(); !known || a != b {
		t.Errorf("the keys of a build-id differ: %v, %v", a, b)
	}
	if _, known := (&format.Module{Kind: file, Path: []byte("/a")}).Key().BuildID(); known {
		t.Error("a file without a build-id has the key of one")
	}
}

package stacks

import "testing"

func TestLooksCut(t *testing.T) {
	for _, c := range []struct {
		depth     int
		outermost string
		want      bool
	}{
		{0, "", false},
		{1, "", true},
		{1, "read", true},
		{2, "main", true},
		{3, "main", false},
		{3, "", false},
		{1, "_start", false},
		{2, "__libc_start_main@@GLIBC_2.34", false},
		{2, "__libc_start_main_impl", false},
		{2, "start_thread", false},
		{2, "start_threads", true},
		{2, "__clone3", false},
		{1, "clone_file", true},
		{2, "runtime.goexit.abi0", false},
		{2, "runtime.mstart1", false},
		{1, "_rt0_amd64_linux", false},
		{2, "main.main", true},
	} {
		if got := LooksCut(c.depth, []byte(c.outermost)); got != c.want {
			t.Errorf("%d frames from %q on: got %v, want %v", c.depth, c.outermost, got, c.want)
		}
	}
}

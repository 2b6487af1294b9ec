package ruby_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wprof/internal/ruby"
)

func libraries(t testing.TB) []string {
	all, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/libruby-3.[13].so.3.?.?")
	if len(all) == 0 {
		t.Skip("ruby is not installed")
	}
	return all
}

func TestRead(t *testing.T) {
	for _, path := range libraries(t) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in, err := ruby.Read(f)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if size := in.Loop.End - in.Loop.Begin; size < 10<<10 || size > 100<<10 || in.Context == 0 {
			t.Errorf("%s: %+v", path, in)
		}
	}
}

func TestReadOfOthers(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ruby.Read(f); !errors.Is(err, ruby.ErrNone) {
		t.Errorf("a program in Go: %v", err)
	}
}

// Files may be anything.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x7fELF"), 0)
	f.Fuzz(func(t *testing.T, change []byte, at int) {
		all, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/libruby-3.[13].so.3.?.?")
		if len(all) == 0 {
			_, _ = ruby.Read(bytes.NewReader(change))
			return
		}
		data, err := os.ReadFile(all[0])
		if err != nil {
			t.Fatal(err)
		}
		if at >= 0 && at < len(data) {
			copy(data[at:], change)
		}
		_, _ = ruby.Read(bytes.NewReader(data))
	})
}

func TestFunctionName(t *testing.T) {
	for _, c := range [][3]string{
		{"/srv/app.rb", "block in serve", "app.block in serve"}, {"<internal:kernel>", "loop", "<internal:kernel>.loop"}, {"(eval)", "f", "f"}, {"a.rb", "", "[ruby?]"},
	} {
		if got := ruby.FunctionName(c[0], c[1]); got != c[2] {
			t.Errorf("%s, %s: %s, not %s", c[0], c[1], got, c[2])
		}
	}
}

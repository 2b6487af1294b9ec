package stacks

import (
	"strings"
	"testing"
)

// TestLooksCut writes stacks with the outermost caller first; "?" is in no module, "-" has no name.
func TestLooksCut(t *testing.T) {
	for _, c := range []struct {
		stack string
		ends  int
		want  bool
	}{
		{"", 0, false},
		{"-", 0, true},
		{"read", 0, true},
		{"main read", 0, true},
		{"main a b", 0, false},
		{"- a b", 0, false},
		{"_start", 0, false},
		{"_start main", 0, false},
		{"? main read", 1, true},
		{"? ? ? main read", 3, true},
		{"? -", 1, true},
		{"? _start main", 1, false},
		{"? main a b", 1, false},
		{"main ? read", 0, false},
		{"main ?", 0, true},
		{"?", 0, true},
		{"? ?", 0, true},
		{"? ? ?", 0, false},
	} {
		names := strings.Fields(c.stack)
		ends, got := LooksCut(len(names), func(i int) Frame {
			return Frame{Function: []byte(strings.Trim(names[i], "?-")), Placed: names[i] != "?"}
		})
		if ends != c.ends || got != c.want {
			t.Errorf("%q: got %d, %v, want %d, %v", c.stack, ends, got, c.ends, c.want)
		}
	}
}

func TestStartsThread(t *testing.T) {
	for name, want := range map[string]bool{
		"":                              false,
		"main":                          false,
		"_start":                        true,
		"__libc_start_main@@GLIBC_2.34": true,
		"__libc_start_main_impl":        true,
		"start_thread":                  true,
		"start_threads":                 false,
		"__clone3":                      true,
		"clone_file":                    false,
		"runtime.goexit.abi0":           true,
		"runtime.mstart1":               true,
		"_rt0_amd64_linux":              true,
		"main.main":                     false,

		"std::rt::lang_start":                       true,
		"std::rt::lang_start::<()>":                 true,
		"std::rt::lang_start::{{closure}}":          true,
		"std::rt::lang_start_internal":              true,
		"std::rt::lang_start_internal::{closure#0}": true,
		"<std::rt::lang_start<()>::{closure#0} as core::ops::function::FnOnce<()>>::call_once": true,
		"std::sys::unix::thread::Thread::new::thread_start":                                    true,
		"std::sys::pal::unix::thread::Thread::new::thread_start":                               true,
		"<std::sys::thread::unix::Thread>::new::thread_start":                                  true,
		"std::sys_common::backtrace::__rust_begin_short_backtrace":                             true,
		"std::sys::backtrace::_rust_begin_short_backtrace":                                     true,
		"std::sys::backtrace::__rust_begin_short_backtrace::<a::main::{closure#0}, i32>":       true,
		"std::sys::backtrace::__rust_end_short_backtrace":                                      false,
		"std::rt::init":             false,
		"app::thread_start":         false,
		"std::thread::spawn::<i32>": false,
	} {
		if got := startsThread([]byte(name)); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

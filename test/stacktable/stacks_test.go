package main

import (
	"regexp"
	"strings"
	"testing"
)

// What perf script prints, of two processes; the kernel's frames, values in no file and the other process do not count.
func TestScriptIsCounted(t *testing.T) {
	const script = `  7
	ffffffff81000000 do_syscall_64 ([kernel.kallsyms])
	            7f01 __read (/usr/lib/libc.so.6)
	            5502 main (/bin/x)
	            7f02 __libc_start_main@@GLIBC_2.34 (/usr/lib/libc.so.6)
	            5501 [unknown] (/bin/x)
	              10 [unknown] ([unknown])

  8
	            5502 main (/bin/x)

  7
	            5503 operator new(unsigned long) (/bin/x)

  7
	            7f03 start_thread (/usr/lib/libc.so.6)
	            7f04 clone3 (/usr/lib/libc.so.6)

`
	c, err := readScript(strings.NewReader(script), "7", regexp.MustCompile("main"))
	if err != nil {
		t.Fatal(err)
	}
	if c.stacks != 3 || c.whole != 2 || c.wrong != 1 || c.frames != 8 || c.named != 6 || c.ends["operator new(unsigned long)"] != 1 {
		t.Errorf("got %+v, want 3 stacks, 2 of them whole, 1 wrong, and 6 of 8 frames named", c)
	}
}

func TestStackReachesRoot(t *testing.T) {
	for stack, want := range map[string]bool{
		"_start main": true, "- __libc_start_main main": true, "? ? _start main": true, "clone3 start_thread": true, "runtime.goexit.abi0 main.f": true,
		"main": false, "- main _start": false, "? main": false, "?": false, "start_threads f": false,
	} {
		var user []frame
		for _, name := range strings.Fields(stack) { // "?" is in no module, "-" has no name
			user = append(user, frame{strings.Trim(name, "?-"), name != "?"})
		}
		if got := reachesRoot(user); got != want {
			t.Errorf("%s: got %v, want %v", stack, got, want)
		}
	}
}

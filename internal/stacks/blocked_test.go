package stacks

import (
	"strings"
	"testing"

	"wprof/format"
)

// TestBlockedIn writes stacks with the outermost caller first, the program's part before the bar.
func TestBlockedIn(t *testing.T) {
	for stack, want := range map[string]string{
		"|":                                            "",
		"main read|":                                   "read",
		"|schedule":                                    "",
		"main read|schedule __schedule":                "read",
		"main|do_read pipe_read schedule":              "pipe_read",
		"main|pipe_read.isra.0 schedule.part.0":        "pipe_read.isra.0",
		"main|do_read [kernel] schedule":               "main",
		"main [libc]|[kernel]":                         "[libc]",
		"|kthread [module] schedule":                   "[module]",
		"main|hrtimer_nanosleep do_nanosleep schedule": "hrtimer_nanosleep",
		"main|hrtimer_nanosleep":                       "hrtimer_nanosleep",
	} {
		program, kernel, _ := strings.Cut(stack, "|")
		if got := BlockedIn(strings.Fields(program), strings.Fields(kernel)); got != want {
			t.Errorf("%s: got %q, want %q", stack, got, want)
		}
	}
	if got := BlockedName("", format.StateUninterruptible); got != "blocked (D)" {
		t.Errorf("without a function: %s", got)
	}
}

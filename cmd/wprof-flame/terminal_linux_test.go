package main

import (
	"bytes"
	"os/exec"
	"testing"

	"wprof/test/fromtext"
	"wprof/test/tools"
)

// Pictures and profiles are not for reading; folded stacks and analyses are.
func TestPicturesAreNotWrittenToATerminal(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	for form, refused := range map[string]bool{"--svg": true, "--html": true, "--pprof": true, "--speedscope": true, "--folded": false, "--analysis": false} {
		tty, _, shown := tools.Terminal(t)
		var stderr bytes.Buffer
		cmd := exec.Command(tools.Path("wprof-flame"), form, file)
		cmd.Stdout, cmd.Stderr = tty, &stderr
		_ = cmd.Run()
		want := "wprof-flame: standard output is a terminal, and the output is not for reading: name a file with -o FILE or write to a pipe\n"
		if status := cmd.ProcessState.ExitCode(); refused && (status != 2 || stderr.String() != want || shown.String() != "") || !refused && status != 0 {
			t.Errorf("%s: status %d, %q, and the terminal shows %q", form, status, stderr.String(), shown.String())
		}
	}
}

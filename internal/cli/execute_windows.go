package cli

import (
	"os"
	"os/exec"
	"os/signal"
)

// execute runs a program and ends this process with its exit status. Ctrl-C reaches both, and the program handles it. It returns only
// with an error.
func execute(path string, argv []string) error {
	signal.Ignore(os.Interrupt)
	cmd := &exec.Cmd{Path: path, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if cmd.ProcessState != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}

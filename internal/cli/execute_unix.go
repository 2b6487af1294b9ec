//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// execute replaces this process by a program. It returns only with an error.
func execute(path string, argv []string) error { return unix.Exec(path, argv, os.Environ()) }

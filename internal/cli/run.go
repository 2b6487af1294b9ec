package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"wprof/internal/printable"
)

// Main runs a tool on the program's arguments and ends the program.
func Main(t Tool) {
	os.Exit(Run(t, os.Args[1:], Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// heapGoal is the memory limit beyond which garbage is collected before the heap has doubled. A full section's
// definitions take some 40 MiB, those of the previous section would be kept beside them, and no tool may take more than 256, with its
// own code and with what is allocated while a busy machine collects. A limit
// that the user sets by GOMEMLIMIT is kept.
const heapGoal = 192 << 20

// RenderingSpace is the address space that a tool needs beside Go's runtime.
const RenderingSpace = 256 << 20

// Run runs a tool and returns its exit status. Errors have been printed then.
func Run(t Tool, argv []string, std Std) int {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapGoal)
	}
	err := t.checkLimits()
	if err != nil {
		return t.report(std, err)
	}
	if ran, err := t.dispatch(argv, std); ran {
		return t.report(std, err)
	}
	inv, err := t.parse(argv)
	if err == nil {
		inv.Std = std
		err = inv.run()
	}
	return t.report(std, err)
}

func (inv *Invocation) run() error {
	t, out := inv.Tool, inv.Std.Out
	var text string
	switch {
	case inv.Bool("help"):
		text = inv.commandsTool().help()
	case inv.Bool("version"):
		text = t.versionText()
	case inv.Bool("man"):
		text = t.man()
	case inv.IsSet("completion"):
		text = t.completion(inv.String("completion"))
	case t.Run == nil:
		return Usagef("give a command; %s help lists them", t.Name)
	default:
		inv.watchSignals()
		defer inv.end()
		return t.Run(inv)
	}
	if isClosed(out) {
		return inv.errClosed()
	}
	_, err := out.WriteString(text)
	return err
}

func (t Tool) report(std Std, err error) int {
	if err == nil {
		return ExitOK
	}
	code := ExitFailed
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
		if exit.Err == nil {
			return code
		}
	}
	fmt.Fprintf(std.Err, "%s: %s\n", t.Name, message(err))
	return code
}

// Placed is an error whose message has more lines below it, which show the place in what the user wrote.
type Placed interface {
	error
	IsPlaced()
}

// message returns the text of an error, on one line unless it is [Placed].
func message(err error) string {
	var placed Placed
	if !errors.As(err, &placed) {
		return oneLine(err.Error())
	}
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = printable.Text(line)
	}
	return strings.Join(lines, "\n")
}

// oneLine keeps a message on one line, even of joined errors, so that grep finds all of it, and escapes control characters.
func oneLine(s string) string {
	return printable.Text(strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "; "))
}

func (t Tool) versionText() string { return t.Name + " " + Version() + "\n" }

// Version is the version of the module and, in a build from a checkout, of its commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key != "vcs.revision" {
			continue
		}
		if commit := s.Value[:min(12, len(s.Value))]; !strings.Contains(version, commit) {
			version += " " + commit
		}
	}
	return version
}

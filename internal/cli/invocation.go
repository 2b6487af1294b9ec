package cli

import (
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"
)

// Invocation is one run of a tool.
type Invocation struct {
	Tool     Tool
	Progname string   // prefix of each message on standard error
	Args     []string // arguments without the flags
	Command  []string // the words after "--", for tools that run a command
	Argv     []string // as it was typed, without the program's name
	Std      Std

	hasCommand bool
	values     *cli.Context

	signals    signals
	ending     ending
	downstream downstream
	bar        bar
	inputs     []fs.FileInfo // regular files that are read
}

// HasCommand reports whether "--" was given to a tool that runs a command.
func (inv *Invocation) HasCommand() bool { return inv.hasCommand }

// Bool reports whether a flag without value was given.
func (inv *Invocation) Bool(name string) bool { return inv.values.Bool(key(name)) }

// String is a flag's value as it was typed, the last one if there are several, or its default. An Optional flag that was
// given without a value has "".
func (inv *Invocation) String(name string) string {
	for _, f := range inv.Tool.flags() {
		if f.Name != name || f.Kind != List && f.Kind != Optional {
			continue
		}
		if values := inv.given(f); len(values) > 0 {
			return values[len(values)-1]
		}
		return f.Default
	}
	return inv.values.String(key(name))
}

// Strings are the values of a List or Optional flag in the order in which they were given.
func (inv *Invocation) Strings(name string) []string { return inv.values.StringSlice(key(name)) }

// IsSet reports whether a flag was given.
func (inv *Invocation) IsSet(name string) bool { return inv.values.IsSet(key(name)) }

// Duration is the value of a Duration flag. Wrong ones were refused before the tool ran; 0 for a flag without value and
// default.
func (inv *Invocation) Duration(name string) time.Duration {
	d, _ := ParseDuration(inv.String(name))
	return d
}

// Size is the value of a Size flag in bytes.
func (inv *Invocation) Size(name string) int64 {
	n, _ := ParseSize(inv.String(name))
	return n
}

// Int is the value of an Int flag.
func (inv *Invocation) Int(name string) int {
	n, _ := strconv.Atoi(inv.String(name))
	return n
}

// Warnf prints a message on standard error without ending the tool.
func (inv *Invocation) Warnf(format string, a ...any) {
	inv.bar.interrupt(inv.Std.Err)
	fmt.Fprintf(inv.Std.Err, "%s: %s\n", inv.Progname, oneLine(fmt.Sprintf(format, a...)))
}

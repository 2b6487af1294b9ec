package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Command is a short name for a tool, perhaps with its first arguments.
type Command struct {
	Name, Tool string
	Args       []string
	Summary    string // of a command without Args, that of the tool
}

// Commands returns all tools under the names that wprof gives them.
func Commands() []Command {
	return []Command{
		{Name: "record", Tool: "wprof-record", Summary: "record context switches, wakeups, thread lifetimes and stacks"},
		{Name: "report", Tool: "wprof-info", Args: []string{"--report"}, Summary: "report where the time went, and what is wrong"},
		{Name: "perfetto", Tool: "wprof-perfetto", Summary: "convert a capture to a trace for ui.perfetto.dev"},
		{Name: "flame", Tool: "wprof-flame", Summary: "show where threads spent their time: flame graphs, pprof, speedscope"},
		{Name: "info", Tool: "wprof-info", Summary: "report where the time went, summarize a capture, check it, convert it to text and back"},
		{Name: "json", Tool: "wprof-json", Summary: "convert a capture to JSON lines or Parquet files, for scripts"},
		{Name: "filter", Tool: "wprof-filter", Summary: "keep a part of a capture"},
		{Name: "symbolize", Tool: "wprof-symbolize", Summary: "name functions, and finish interrupted recordings"},
		{Name: "wallclock", Tool: "wprof-wallclock", Summary: "show where a process spends its time, on the CPU and off it"},
	}
}

// tools returns the names of all tools, wprof included.
func tools() []string {
	names := []string{"wprof"}
	for _, c := range Commands() {
		names = append(names, c.Tool)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	helpCommand    = "help"    // shows the help of another one
	versionCommand = "version" // is --version
)

// dispatch runs the command that argv begins with in place of this process; ran is false if it begins with none. Of a tool with commands, only
// flags come without one.
func (t Tool) dispatch(argv []string, std Std) (ran bool, err error) {
	switch {
	case len(t.Commands) == 0 || len(argv) > 0 && strings.HasPrefix(argv[0], "-"):
		return false, nil
	case len(argv) == 0:
		_, err := std.Out.WriteString(t.Introduction)
		return true, err
	case argv[0] == helpCommand && (len(argv) == 1 || argv[1] == helpCommand):
		_, err := std.Out.WriteString(t.help())
		return true, err
	case argv[0] == versionCommand && len(argv) == 1:
		_, err := std.Out.WriteString(t.versionText())
		return true, err
	}
	name := argv[0]
	if name == helpCommand {
		name = argv[1]
	}
	i := slices.IndexFunc(t.Commands, func(c Command) bool { return c.Name == name })
	switch {
	case i < 0:
		return true, Usagef("there is no command %s; %s", name, didYouMean(name, t.commandNames()))
	case argv[0] == helpCommand:
		return true, t.Commands[i].run(append(slices.Clone(t.Commands[i].Args), "--help"))
	}
	return true, t.Commands[i].run(slices.Concat(t.Commands[i].Args, argv[1:]))
}

// commandsTool is the tool as the command of wprof that is given by its arguments: "wprof report" is wprof-info --report. It has what
// goes with the command's flag, and first the flags beside that one.
func (inv *Invocation) commandsTool() Tool {
	t := inv.Tool
	for _, c := range Commands() {
		if c.Tool != t.Name || len(c.Args) != 1 {
			continue
		}
		mode, found := flagNamed(t.Groups, strings.TrimPrefix(c.Args[0], "--"))
		if found && inv.Bool(mode.Name) {
			return t.in(mode, c)
		}
	}
	return t
}

func (t Tool) in(mode Flag, c Command) Tool {
	var first, rest []Group
	for _, g := range t.Groups {
		isFirst := slices.ContainsFunc(g.Flags, func(f Flag) bool { return f.Name == mode.Name })
		g.Flags = slices.DeleteFunc(slices.Clone(g.Flags), func(f Flag) bool { return f.Mode })
		switch {
		case len(g.Flags) == 0:
		case isFirst:
			first = append(first, g)
		default:
			rest = append(rest, g)
		}
	}
	t.Name, t.Summary, t.Description, t.Groups = t.Name+" "+c.Args[0], c.Summary, mode.Usage, append(first, rest...)
	t.Examples = slices.DeleteFunc(slices.Clone(t.Examples), func(e Example) bool { return !strings.Contains(e.Command+" ", " "+c.Args[0]+" ") })
	return t
}

func (t Tool) commandNames() []string {
	var names []string
	for _, c := range t.Commands {
		names = append(names, c.Name)
	}
	return append(names, helpCommand)
}

// run runs the command's tool in place of this process.
func (c Command) run(args []string) error {
	path, err := findTool(c.Tool)
	if err != nil {
		return err
	}
	name := c.Tool
	if len(c.Args) > 0 {
		name = asCommand + c.Name // for AsTyped; the other tools keep how they were called in captures
	}
	return Failf("run %s: %w", path, execute(path, append([]string{name}, args...)))
}

// asCommand begins argv[0] of a tool that was not called by its own name.
const asCommand = "wprof "

// AsTyped is a command line of a tool as it is typed by who called this one: by a user of wprof, "wprof flame".
func AsTyped(command string) string {
	if rest, ok := strings.CutPrefix(command, "wprof-"); ok && strings.HasPrefix(os.Args[0], asCommand) {
		return asCommand + rest
	}
	return command
}

// findTool returns the path of a tool: beside this program, or else on PATH.
func findTool(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", Failf("find the folder of this program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(self), name)
	path, err := exec.LookPath(beside)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		if path, err = exec.LookPath(name); errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("it is neither in %s nor on PATH; scripts/install installs all tools", filepath.Dir(self))
		}
	}
	if err != nil {
		if cause := new(exec.Error); errors.As(err, &cause) {
			err = cause.Err
		}
		return "", Failf("run %s: %w", name, withoutPath(err))
	}
	return path, nil
}

// commandsHelp lists the commands for the help.
func (t Tool) commandsHelp() string {
	var b strings.Builder
	b.WriteString("\nCommands:\n")
	for _, c := range t.Commands {
		b.WriteString(hang(fmt.Sprintf("  %-11s", c.Name), c.describe()))
	}
	b.WriteString(hang(fmt.Sprintf("  %-11s", helpCommand), "show the help of a command: wprof help record"))
	return b.String()
}

// describe is the summary with the tool's own name.
func (c Command) describe() string {
	return fmt.Sprintf("%s (%s)", c.Summary, strings.Join(append([]string{c.Tool}, c.Args...), " "))
}

// commandsMan is the same for the manual page.
func (t Tool) commandsMan() string {
	var b strings.Builder
	b.WriteString(".SH COMMANDS\n")
	for _, c := range t.Commands {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Name), roff(c.describe()))
	}
	fmt.Fprintf(&b, ".TP\n.B %s \\fICOMMAND\\fR\nshow the help of a command\n", helpCommand)
	return b.String()
}

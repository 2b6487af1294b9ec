package cli

import (
	"errors"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"
)

// parse lets urfave/cli read the flags and checks every value before anything is done.
func (t Tool) parse(argv []string) (*Invocation, error) {
	w, err := t.spell(argv)
	if err != nil {
		return nil, err
	}
	inv := &Invocation{Tool: t, Progname: t.Name, Args: w.args, Command: w.command, hasCommand: w.hasCommand, Argv: argv}
	app := &cli.App{
		Name: t.Name, HideHelp: true, HideVersion: true, HideHelpCommand: true, DisableSliceFlagSeparator: true,
		Writer: io.Discard, ErrWriter: io.Discard, Flags: t.parserFlags(),
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return Usagef("%w", err) },
		Action:         func(c *cli.Context) error { inv.values = c; return nil },
	}
	if err := app.Run(append([]string{t.Name}, w.flags...)); err != nil {
		return nil, err
	}
	return inv, inv.check()
}

// key returns a flag's name for urfave/cli. It must not be one that the library handles itself: it handles a flag called help,
// hidden or not, instead of running the action.
func key(name string) string { return "flag-" + name }

func (t Tool) parserFlags() []cli.Flag {
	var flags []cli.Flag
	for _, f := range t.flags() {
		switch f.Kind {
		case Bool:
			flags = append(flags, &cli.BoolFlag{Name: key(f.Name)})
		case List, Optional:
			flags = append(flags, &cli.StringSliceFlag{Name: key(f.Name), KeepSpace: true})
		default:
			flags = append(flags, &cli.StringFlag{Name: key(f.Name), Value: f.Default})
		}
	}
	return flags
}

// check validates every value that was given.
func (inv *Invocation) check() error {
	for _, f := range inv.Tool.flags() {
		if !inv.IsSet(f.Name) || f.Kind == Bool {
			continue
		}
		for _, v := range inv.given(f) {
			if err := f.validate(v); err != nil {
				return Usagef("--%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// given returns a flag's values as they were typed, in order; for a flag that takes one only the last.
func (inv *Invocation) given(f Flag) []string {
	if f.Kind == List || f.Kind == Optional {
		return inv.values.StringSlice(key(f.Name))
	}
	return []string{inv.values.String(key(f.Name))}
}

func (f Flag) validate(value string) error {
	var err error
	switch f.Kind {
	case Duration:
		_, err = ParseDuration(value)
	case Size:
		_, err = ParseSize(value)
	case Int:
		if _, e := strconv.Atoi(value); e != nil {
			err = notANumber(value)
		}
	}
	if err == nil {
		err = choose(f, value)
	}
	if err == nil && f.Files && f.Kind != Optional && value == "" {
		err = errors.New("the name of the file is empty")
	}
	if err == nil && f.Check != nil {
		err = f.Check(value)
	}
	return err
}

type notANumber string

func (v notANumber) Error() string { return strconv.Quote(string(v)) + " is not a whole number" }

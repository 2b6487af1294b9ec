package info

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
)

// Run is the tool.
func Run(inv *cli.Invocation) error {
	var modes []string
	for _, mode := range []string{"check", "dump", "undump"} {
		if inv.Bool(mode) {
			modes = append(modes, mode)
		}
	}
	if len(modes) > 1 {
		return cli.Usagef("--%s cannot be done in one run; give one of them", strings.Join(modes, " and --"))
	}
	do, binary := summarize, false
	switch strings.Join(modes, "") {
	case "check":
		do = check
	case "dump":
		do = dump
	case "undump":
		do, binary = undump, true
	}
	in, source, err := inv.OpenInputs()
	if err != nil {
		return err
	}
	defer in.Close()
	if len(inv.Args) == 0 || inv.Args[0] == "-" {
		source = "standard input"
	}
	out, err := inv.CreateOutput(inv.String("output"), binary)
	if err != nil {
		return err
	}
	if err := do(out, in, source); err != nil {
		err = withStatus(source, err)
		if complete := new(cli.ExitError); !errors.As(err, &complete) || complete.Code != cli.ExitDamaged {
			out.Abort()
			return err
		}
		return errors.Join(err, out.Commit())
	}
	return out.Commit()
}

// withStatus gives an error its exit status.
func withStatus(source string, err error) error {
	err = fmt.Errorf("%s: %w", source, err)
	switch {
	case errors.Is(err, format.ErrNewer):
		return cli.WithCode(cli.ExitNewer, err)
	case errors.Is(err, format.ErrDamaged):
		return cli.WithCode(cli.ExitDamaged, err)
	}
	return cli.WithCode(cli.ExitFailed, err)
}

func dump(w io.Writer, r io.Reader, _ string) error { return format.Dump(w, r) }

func undump(w io.Writer, r io.Reader, _ string) error {
	out := bufio.NewWriterSize(w, 256<<10)
	if err := format.Undump(out, r); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the stream: %w", err)
	}
	return nil
}

// check prints what is wrong, one sentence a line, or that nothing is.
func check(w io.Writer, r io.Reader, source string) error {
	out := bufio.NewWriter(w)
	seen, err := format.Check(r, func(f format.Finding) {
		fmt.Fprintf(out, "at byte %s: %s\n", count(f.Offset), f.Text)
	})
	held := fmt.Sprintf("%s in %s and %s, %s", plural(uint64(seen.Events), "event"),
		plural(uint64(seen.Blocks), "block"), plural(uint64(seen.Sections), "section"), size(seen.Bytes))
	if err == nil && seen.Findings == 0 {
		fmt.Fprintf(out, "%s: sound: %s\n", source, held)
	}
	if flushErr := out.Flush(); flushErr != nil {
		return fmt.Errorf("write the findings: %w", flushErr)
	}
	if err == nil && seen.Findings > 0 {
		return fmt.Errorf("%w: %s among %s", format.ErrDamaged, plural(uint64(seen.Findings), "finding"), held)
	}
	return err
}

func summarize(w io.Writer, r io.Reader, source string) error {
	s, err := Summarize(r)
	if err != nil {
		return err
	}
	if err := s.Print(w, source); err != nil {
		return err
	}
	if len(s.Damage) > 0 {
		return fmt.Errorf("%w: %s; --check says more", format.ErrDamaged, s.Damage[0])
	}
	return nil
}

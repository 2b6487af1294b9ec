package info

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/internal/cli"
	"wprof/internal/printable"
)

// Run is the tool.
func Run(inv *cli.Invocation) error {
	if err := checkReport(inv); err != nil {
		return err
	}
	var modes []string
	for _, mode := range []string{"check", "dump", "undump", "json", "report", "probes", "calls"} {
		if inv.Bool(mode) {
			modes = append(modes, mode)
		}
	}
	if inv.Bool("report") && (len(modes) == 1 || len(modes) == 2 && inv.Bool("json")) {
		return runReport(inv)
	}
	if len(modes) > 1 {
		return cli.Usagef("--%s exclude each other; give one of them", strings.Join(modes, " and --"))
	}
	if inv.Bool("probes") {
		return runListing(inv, "probes", func(r *format.Reader) listing { return newProbes(r) })
	}
	if inv.Bool("calls") {
		return runListing(inv, "functions", func(r *format.Reader) listing { return newCalls(r) })
	}
	if inv.Bool("fail-on-loss") && (inv.Bool("dump") || inv.Bool("undump")) {
		return cli.Usagef("--fail-on-loss does not go with --%s; the summary, --json and --check report losses", modes[0])
	}
	do, binary := summarize, false
	switch strings.Join(modes, "") {
	case "check":
		do = printFindings
	case "dump":
		do = dump
	case "undump":
		do, binary = undump, true
	case "json":
		do = summarizeJSON
	}
	in, err := inv.OpenCapture("", "", inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := createOutput(inv, binary)
	if err != nil {
		return err
	}
	defer out.Abort()
	lost, err := do(out, in.In, in.Name)
	if err != nil && !errors.Is(err, textform.ErrDamaged) {
		return in.Error(err)
	}
	if err := out.Commit(); err != nil {
		return err
	}
	return in.Outcome(cli.CaptureResult{Lost: lost}, err)
}

func createOutput(inv *cli.Invocation, binary bool) (*cli.Output, error) {
	path := inv.String("output")
	if inv.Bool("check") {
		return inv.CreateStatusOutput(path)
	}
	return inv.CreateOutput(path, binary)
}

func dump(w io.Writer, r io.Reader, _ string) (lost bool, err error) {
	out := &writer{w: w}
	err = textform.Dump(out, r)
	if out.err != nil {
		return false, fmt.Errorf("write the text form: %w", out.err)
	}
	return false, err
}

// writer counts the bytes written and keeps the first error.
type writer struct {
	w     io.Writer
	bytes int64
	err   error
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.bytes += int64(n)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

func undump(w io.Writer, r io.Reader, _ string) (lost bool, err error) {
	to := &writer{w: w}
	out := bufio.NewWriterSize(to, 256<<10)
	text := &lineCounter{r: r}
	if err := textform.Undump(out, text); err != nil && text.cut() == nil {
		return false, err
	}
	if err := text.cut(); err != nil {
		return false, err
	}
	if err := out.Flush(); err != nil {
		return false, fmt.Errorf("write the stream: %w", err)
	}
	if to.bytes == 0 {
		return false, errors.New("the text has no section, so there is nothing to write")
	}
	return false, nil
}

// lineCounter records whether a text ends within a line: the last line of a cut text may be valid and mean something else.
type lineCounter struct {
	r     io.Reader
	lines int64
	last  byte
	ended bool
}

func (c *lineCounter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if n > 0 {
		c.lines += int64(bytes.Count(b[:n], []byte{'\n'}))
		c.last = b[n-1]
	}
	c.ended = c.ended || errors.Is(err, io.EOF)
	return n, err
}

// cut returns an error if the text was read to its end and ends within a line.
func (c *lineCounter) cut() error {
	if !c.ended || c.last == 0 || c.last == '\n' {
		return nil
	}
	return fmt.Errorf("line %d, the last one, was cut: it does not end with a newline; add one if the line is whole", c.lines+1)
}

// printFindings prints what is wrong with a capture, one finding a line, or that it is valid.
func printFindings(w io.Writer, r io.Reader, source string) (lost bool, err error) {
	out := bufio.NewWriter(w)
	seen, err := check.Stream(r, func(f check.Finding) {
		fmt.Fprintf(out, "at byte %s: %s\n", cli.Grouped(f.Offset), printable.Text(f.Text))
	})
	held := fmt.Sprintf("%s in %s and %s, %s", cli.Counted(uint64(seen.Events), "event"),
		cli.Counted(uint64(seen.Blocks), "block"), cli.Counted(uint64(seen.Sections), "section"), size(seen.Bytes))
	if err == nil && seen.Findings == 0 {
		fmt.Fprintf(out, "%s: sound: %s\n", printable.Text(source), held)
	}
	if flushErr := out.Flush(); flushErr != nil {
		return false, fmt.Errorf("write the findings: %w", flushErr)
	}
	if err == nil && seen.Findings > 0 {
		return false, fmt.Errorf("%w: %s among %s", textform.ErrDamaged, cli.Counted(uint64(seen.Findings), "finding"), held)
	}
	return seen.Losses > 0, err
}

func summarize(w io.Writer, r io.Reader, source string) (lost bool, err error) {
	return summarizeAs(r, func(s *Summary) error { return s.Print(w, source) })
}

func summarizeJSON(w io.Writer, r io.Reader, source string) (lost bool, err error) {
	return summarizeAs(r, func(s *Summary) error { return s.WriteJSON(w, source) })
}

func summarizeAs(r io.Reader, write func(*Summary) error) (lost bool, err error) {
	s, err := Summarize(r)
	if err != nil {
		return false, err
	}
	if err := write(s); err != nil {
		return false, err
	}
	if len(s.Damage) > 0 {
		return false, fmt.Errorf("%w: %s; see --check", textform.ErrDamaged, s.Damage[0])
	}
	return slices.ContainsFunc(s.Recordings, func(r Recording) bool { return r.lossy() }), nil
}

package symbolize

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/proc"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// Run is the tool wprof-symbolize.
func Run(inv *cli.Invocation) error {
	if inv.IsSet("collect") {
		return collect(inv)
	}
	if err := oneSpool(inv); err != nil {
		return err
	}
	in, err := inv.OpenCapture("read", "the output has all the rest", inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	if file := spoolFile(in.In); file != nil {
		recorded, err := spool.OpenFile(file)
		if err != nil {
			return cli.Failf("finish %s: %w", in.Name, err)
		}
		return recoverSpool(inv, recorded, in.Name)
	}
	if in.IsRegular() {
		return passOn(inv, in)
	}
	return fromPipe(inv, in)
}

// fromPipe reads the first bytes of a pipe. A spool needs random access, so it is copied to a file first.
func fromPipe(inv *cli.Invocation, in *cli.Capture) error {
	ahead := bufio.NewReaderSize(in.In, 64<<10)
	// Input that is too short for a spool is left to the stream's reader.
	if beginning, _ := ahead.Peek(spool.BeginningBytes); !spool.IsSpool(beginning) {
		in.In = peeked{ahead, in.In}
		return passOn(inv, in)
	}
	recorded, err := spool.CopyUnlinked(ahead)
	if err != nil {
		return cli.Failf("finish the spool from %s: %w", in.Name, err)
	}
	return recoverSpool(inv, recorded, in.Name)
}

// peeked is an input whose beginning has been read.
type peeked struct {
	io.Reader
	in io.Reader
}

// Finite reports whether the input is known to end.
func (p peeked) Finite() bool { return format.IsFinite(p.in) }

// oneSpool refuses a spool among several files: only streams can be concatenated.
func oneSpool(inv *cli.Invocation) error {
	if len(inv.Args) < 2 {
		return nil
	}
	for _, name := range inv.Args {
		file, err := os.Open(name)
		if err != nil {
			continue // opening the inputs reports it
		}
		is := spoolFile(file) != nil
		file.Close()
		if is {
			return cli.Usagef("%s is a spool, which must be the only input", name)
		}
	}
	return nil
}

// spoolFile returns the input if it is a spool. A damaged one is recognized by its name.
func spoolFile(in io.Reader) *os.File {
	file, ok := in.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	var beginning [spool.BeginningBytes]byte
	n, err := file.ReadAt(beginning[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if spool.IsSpool(beginning[:n]) || strings.HasSuffix(file.Name(), ".part") {
		return file
	}
	return nil
}

func recoverSpool(inv *cli.Invocation, recorded *spool.Spool, name string) error {
	defer recorded.Close()
	out, err := inv.CreateOutput(inv.String("output"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	bar := inv.Progress("finishing " + name)
	w := format.NewWriter(out, format.WriterOptions{Level: inv.CompressionLevel(out)})
	resolver, err := newFinder(inv, spoolSources(inv, recorded, name))
	if err != nil {
		return err
	}
	defer resolver.Close()
	o := assemble.Options{Progress: bar.Set, Names: reasons{resolver.Resolver}}
	lines := &spoolLines{resolver: resolver.Resolver}
	if !inv.Bool("no-lines") {
		o.Lines = lines
	}
	summary, err := assemble.Finalise(recorded, w, o)
	bar.Done()
	if err != nil {
		return cli.Failf("finish %s: %w", name, err)
	}
	resolver.report()
	for _, unread := range lines.unread {
		inv.Warnf("%s", unread)
	}
	if err := out.Commit(); err != nil {
		return cli.Failf("%w", err)
	}
	if err := reportPartial(name, &summary); err != nil {
		return err
	}
	return inv.Lost(name, slices.ContainsFunc(summary.Losses, (*format.Loss).IsFault))
}

// reportPartial reports what was recovered, if not everything was.
func reportPartial(name string, s *assemble.Summary) error {
	if s.Damage == nil {
		return nil
	}
	events := uint64(0)
	for _, n := range s.Events {
		events += n
	}
	return cli.WithCode(cli.ExitDamaged, fmt.Errorf("%s: %s; recovered: %d events of %.3f s",
		name, s.Damage, events, float64(s.Close-s.Open)/1e9))
}

// passOn writes a stream unchanged: every event, state and loss, and the definitions that they use, with names for
// frames that have none.
func passOn(inv *cli.Invocation, in *cli.Capture) error {
	out, err := inv.CreateOutput(inv.String("output"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	boot := new(string)
	resolver, err := newFinder(inv, streamSources(inv, boot))
	if err != nil {
		return err
	}
	defer resolver.Close()
	names := &namer{names: resolver, unnamed: resolver.countUnnamed, again: inv.Bool("again"), form: symbol.ParseForm(inv.String("demangle")), reform: inv.IsSet("demangle")}
	f, err := filter.New(in.In, out, !in.IsRegular(), filter.Options{
		Level: inv.CompressionLevel(out), Version: cli.Version(), Frame: names.define, Stack: names.settle,
		Command: proc.CommandLine(append([]string{inv.Tool.Name}, inv.Argv...)),
	})
	if err != nil {
		return in.Error(err)
	}
	*boot = f.Session().BootId
	if file, ok := in.In.(*os.File); ok && in.IsRegular() {
		if !inv.Bool("no-lines") {
			names.lines = resolver
		}
		if err := names.gatherFile(file); err != nil {
			return in.Error(err)
		}
	}
	result, err := f.Run()
	if err := in.Commit(err, out); err != nil {
		return err
	}
	resolver.report()
	for _, unread := range names.result.Unread {
		inv.Warnf("%s", unread)
	}
	if n := names.result.NoRoom; n > 0 {
		inv.Warnf("%d frames have no source lines: a section has no room for more", n)
	}
	if inv.Bool("verbose") && err == nil {
		inv.Warnf("named %d of the %d frames that were looked up for a name; %d got source lines", names.result.Named, names.result.LookedUp, names.result.Lines)
	}
	return in.Outcome(cli.CaptureResult{DroppedThreads: result.DroppedThreads, Lost: result.Lost, Damage: result.Damage}, err)
}

package perfetto

import (
	"strings"

	"wprof/internal/browser"
	"wprof/internal/cli"
	"wprof/internal/reread"
	"wprof/internal/stacks"
)

// largeTrace is the size in bytes from which the user interface is slow: 8 million events load in half a minute and
// take 1.3 GB. docs/wprof-perfetto.md has what was measured.
const largeTrace = 64 << 20

const restShown = "the trace shows all the rest"

// site opens a trace that it is given by its address. It fetches from this port only.
func site() browser.Site {
	const address = "https://ui.perfetto.dev"
	return browser.Site{Port: 9001, Origin: address, Link: address + "/#!/?url="}
}

// Run implements wprof-perfetto.
func Run(inv *cli.Invocation) error {
	shown, err := browser.Begin(inv, site())
	if err != nil {
		return err
	}
	defer shown.Close()
	outcome, err := write(inv, shown)
	if err != nil {
		return err
	}
	if err := shown.Show(); err != nil {
		return err
	}
	return outcome
}

// createOutput opens the output, which may be one to be shown.
func createOutput(inv *cli.Invocation, shown *browser.Shown) (*cli.Output, error) {
	if shown != nil {
		return shown.Create(inv.String("output"), ".pb", true)
	}
	return inv.CreateOutput(inv.String("output"), true)
}

// write writes the trace. The outcome is an error of the input: the trace has all up to there.
func write(inv *cli.Invocation, shown *browser.Shown) (outcome, err error) {
	in, err := inv.OpenCapture("convert", restShown, inv.Args...)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := createOutput(inv, shown)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	options := DefaultOptions()
	options.Set(inv.Strings("emit"))
	options.Python = stacks.PythonViewOf(inv.Strings("emit"), inv.Bool(stacks.NoPython))
	if inv.IsSet("blocked-min") {
		options.BlockedMin = inv.Duration("blocked-min")
	}
	if inv.IsSet("mark") {
		if options.Marks, err = ParseMarks(inv.Strings("mark")); err != nil {
			return nil, cli.Usagef("%w", err)
		}
	}
	if inv.IsSet("max-mb") {
		again, err := reread.From(in.In, "wprof-perfetto", "")
		if err != nil {
			return nil, in.Error(err)
		}
		defer again.Close()
		in.In = again.File()
		if options, err = fit(inv, in, again, options); err != nil {
			return nil, err
		}
	}
	r, err := in.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	done, err := Convert(r, out, options)
	if err := in.Commit(err, out); err != nil {
		return nil, err
	}
	if done.SkippedCPUs > 0 {
		inv.Warnf("%s of CPUs from %d on left out, because Perfetto takes no more CPUs", cli.Counted(uint64(done.SkippedCPUs), "event"), maxCPUs)
	}
	if done.Bytes > largeTrace && !inv.IsSet("max-mb") {
		inv.Warnf("the trace has %d MB, which the interface loads slowly; wprof-filter --start and --end cut a part out of the capture, and --max-mb 32 leaves out details", done.Bytes>>20)
	}
	return in.Outcome(cli.CaptureResult{DroppedThreads: done.DroppedThreads, Lost: done.Lost, Damage: r.Damage()}, err), nil
}

// fit returns the options with which the trace has at most --max-mb, and reports what they leave out.
func fit(inv *cli.Invocation, in *cli.Capture, again *reread.Input, o Options) (Options, error) {
	most := int64(inv.Int("max-mb"))
	if most < 1 || most > 1<<20 {
		return o, cli.Usagef("--max-mb takes a number from 1 to %d", 1<<20)
	}
	f := &fitting{inv: inv, in: in, again: again, most: most * 1e6}
	o, dropped, err := f.choose(o)
	if err == nil && len(dropped) > 0 {
		inv.Warnf("to fit into %d MB, the trace lacks %s", most, strings.Join(dropped, ", "))
	}
	return o, err
}

package perfetto

import "wprof/internal/cli"

// largeTrace is the size in bytes from which the user interface is slow: 8 million events load in half a minute and
// take 1.3 GB. docs/wprof-perfetto.md has what was measured.
const largeTrace = 64 << 20

// Run implements wprof-perfetto.
func Run(inv *cli.Invocation) error {
	in, err := inv.OpenCapture("convert", "the trace shows all the rest", inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := inv.CreateOutput(inv.String("output"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	r, err := in.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	options := DefaultOptions()
	options.Set(inv.Strings("emit"))
	if inv.IsSet("blocked-min") {
		options.BlockedMin = inv.Duration("blocked-min")
	}
	done, err := Convert(r, out, options)
	if err := in.Commit(err, out); err != nil {
		return err
	}
	if done.SkippedCPUs > 0 {
		inv.Warnf("%s of CPUs from %d on left out, because Perfetto takes no more CPUs", cli.Counted(uint64(done.SkippedCPUs), "event"), maxCPUs)
	}
	if done.Bytes > largeTrace {
		inv.Warnf("the trace has %d MB, which the interface loads slowly; wprof-filter --start and --end cut a part out of the capture, and -e no-threads makes a small trace", done.Bytes>>20)
	}
	return in.Outcome(cli.CaptureResult{DroppedThreads: done.DroppedThreads, Lost: done.Lost, Damage: r.Damage()}, err)
}

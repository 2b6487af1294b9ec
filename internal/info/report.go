package info

import (
	"errors"
	"strconv"

	"wprof/internal/cli"
	"wprof/internal/cmdline"
	"wprof/internal/filter"
	"wprof/internal/report"
)

// maxLimit bounds the entries of a report's lists.
const maxLimit = 1000

// ReportFlags are the flags of --report besides those that select what it is about.
func ReportFlags() cli.Group {
	return cli.Group{Title: "Report", Flags: []cli.Flag{
		{Name: "report", Mode: true, Usage: "Print where the time of the threads went and what held them up: findings in order of weight, time by class, functions on the CPU, waits, locks, delays for a CPU, and the longest waits. The flags below select the threads and the time that it is about. With --json it is one JSON object."},
		{Name: "limit", Kind: cli.Int, Value: "N", Default: strconv.Itoa(report.DefaultLimit), Check: checkLimit, Usage: "Maximum number of entries in each list of a report, 1 to " + strconv.Itoa(maxLimit) + "."},
	}}
}

func checkLimit(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxLimit {
		return errors.New("the number of entries must be from 1 to " + strconv.Itoa(maxLimit))
	}
	return nil
}

// checkReport refuses flags that have no meaning without --report.
func checkReport(inv *cli.Invocation) error {
	switch {
	case inv.Bool("report"):
		return nil
	case inv.IsSet("limit"):
		return cli.Usagef("--limit is for --report")
	case filter.FlagsGiven(inv):
		return cli.Usagef("filters are for --report; to summarize a part of a capture, give them to wprof-filter: wprof-filter -p PID FILE | wprof-info")
	}
	return nil
}

const restReported = "the report is about all the rest"

// runReport writes a report.
func runReport(inv *cli.Invocation) error {
	selection, err := filter.OptionsFrom(inv)
	if err != nil {
		return err
	}
	in, err := inv.OpenCapture("report on", restReported, inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	threads := selection.Threads
	selection.Threads = filter.Spec{}
	if filter.EventFlagsGiven(inv) {
		part, err := filter.NewFilteredReader(inv, in.In, in.Name, selection, filter.Messages{Start: "--start", End: "--end", Empty: "the report is empty", Rest: restReported})
		if err != nil {
			return err
		}
		in.Filter(part)
	}
	out, err := createOutput(inv, false)
	if err != nil {
		return err
	}
	defer out.Abort()
	r, err := in.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	made, err := report.Make(r, report.Options{Limit: inv.Int("limit"), Source: cmdline.Files(inv.Args), Selector: filter.NewSelector(threads, r)})
	if err != nil && !cli.EndsWell(err) {
		return in.Error(err)
	}
	if made.Threads == 0 {
		inv.Warnf("%s: no thread meets the conditions; the report is empty", in.Name)
	}
	write := func() error { return made.Print(out, in.Name) }
	if inv.Bool("json") {
		write = func() error { return made.WriteJSON(out) }
	}
	if err := write(); err != nil {
		return err
	}
	if err := in.Commit(err, out); err != nil {
		return err
	}
	return in.Outcome(cli.CaptureResult{DroppedThreads: made.DroppedThreads, Lost: made.LostData, Damage: r.Damage()}, err)
}

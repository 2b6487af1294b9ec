package flame

import (
	"errors"
	"strings"

	"wprof/format"
	"wprof/internal/browser"
	"wprof/internal/cli"
	"wprof/internal/cmdline"
	"wprof/internal/filter"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/profile"
	"wprof/internal/printable"
	"wprof/internal/report"
	"wprof/internal/reread"
)

// Run is the tool.
func Run(inv *cli.Invocation) error {
	q, err := parse(inv)
	if err != nil {
		return err
	}
	shown, err := browser.Begin(inv, browser.Site{})
	if err != nil {
		return err
	}
	defer shown.Close()
	if inv.Bool("dry-run") {
		return q.checkOutputs(inv, shown)
	}
	inputErr, err := q.run(inv, shown)
	if err != nil {
		return err
	}
	if err := shown.Show(); err != nil {
		return err
	}
	return inputErr
}

// run reads the input and writes the outputs. inputErr is an error of the input: the outputs show all up to there.
func (q *request) run(inv *cli.Invocation, shown *browser.Shown) (inputErr, err error) {
	in, err := inv.OpenCapture("fold", restShown, inv.Args...)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	base, err := q.openOther(inv, in)
	if err != nil {
		return nil, err
	}
	if base != nil {
		defer base.Close()
	}
	outs, err := q.create(inv, shown)
	if err != nil {
		return nil, err
	}
	defer outs.abort()
	p, inputErr, err := q.read(inv, in, q.inputSelection())
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if base != nil {
		if err := q.compare(inv, p, in.Name, base, outs); err != nil {
			return nil, errors.Join(err, inputErr)
		}
		return inputErr, nil
	}
	if q.buckets > 0 {
		err = q.writeBuckets(inv, p)
	} else {
		err = q.write(inv, p, outs)
	}
	if err != nil {
		return nil, err
	}
	return inputErr, nil
}

const restShown = "the output shows all the rest"

// selection is the part of a capture that is read.
type selection struct {
	filter.Options
	filtered bool // something may be left out
	messages filter.Messages
}

// inputSelection returns the selection of the input.
func (q *request) inputSelection() selection {
	messages := filter.Messages{Start: "--start", End: "--end", Rest: restShown}
	if !q.diff { // which fails if nothing is left
		messages.Empty = "the output is empty"
	}
	return selection{q.input, q.filtered, messages}
}

// baseSelection returns the selection of the capture that the input is compared with.
func (q *request) baseSelection() selection {
	return selection{q.base, q.filtered || q.ranged, filter.Messages{Start: "--diff-start", End: "--diff-end", Rest: restShown}}
}

// read collects a profile. inputErr is an error of the input: the profile is complete up to there, and the tool exits with the
// status of that error.
func (q *request) read(inv *cli.Invocation, in *cli.Capture, of selection) (p *profile.Profile, inputErr, err error) {
	collect := q.collect
	if q.inside != "" {
		again, err := reread.From(in.In, "wprof-flame", "")
		if err != nil {
			return nil, nil, in.Error(err)
		}
		defer again.Close()
		in.In = again.File()
		if collect.Inside, err = q.findInside(inv, in); err != nil {
			return nil, nil, err
		}
	}
	if of.filtered {
		part, err := filter.NewFilteredReader(inv, in.In, in.Name, of.Options, of.messages)
		if err != nil {
			return nil, nil, err
		}
		in.Filter(part)
	}
	r, err := in.Reader()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if q.only.IsAny() { // else the interface would hold a nil pointer
		collect.Selector = filter.NewSelector(q.only, r)
	}
	if q.analyses() {
		q.reports = report.NewCollector(r, report.Options{Limit: report.DefaultLimit, Source: cmdline.Files(inv.Args), Selector: filter.NewSelector(q.only, r), Threads: q.folder != "", MaxLive: profile.MaxBeside})
		collect.Also = q.reports
	}
	p, err = profile.Collect(r, collect)
	if collect.Selector != nil && len(p.Threads) == 0 && of.messages.Empty != "" {
		inv.Warnf("nothing of %s is kept: no thread meets the conditions; %s", in.Name, of.messages.Empty)
	}
	name := in.Name
	if n := p.About.Merged; n > 0 {
		inv.Warnf("%s: the %s ended threads with the least time were merged by name, or as %s", name, cli.Grouped(uint64(n)), profile.MoreThreads)
	}
	if n := p.About.Unnamed; n > 0 {
		inv.Warnf("%s: too many different thread names; what threads did under %s of them is shown as %s", name, cli.Grouped(n), profile.MoreThreads)
	}
	what := "event type"
	if collect.Probes {
		what = "events of a probe"
	}
	if n := p.About.NoNumber; n > 0 {
		inv.Warnf("%s: %s left out, without a number in %s that can be added up", name, cli.Counted(n, "event"), printable.Text(p.About.SumOf))
	}
	for _, event := range p.About.NotSeen {
		inv.Warnf("%s: the capture has no %s %s; it has %s", name, what, printable.Text(event), list(p.About.OtherEvents))
	}
	q.warnOfNoLines(inv, p, name)
	if p.About.SumOf != "" {
		q.text.Unit = folded.Nanoseconds // which are the sums
	}
	if p.About.IsCount {
		q.text.Unit = folded.Samples
	}
	if errors.Is(err, profile.ErrSlots) {
		return nil, nil, cli.Usagef("--buckets %v: %w", q.buckets, err)
	}
	if err := in.Commit(err); err != nil {
		return nil, nil, err
	}
	done := cli.CaptureResult{DroppedThreads: p.About.DroppedThreads, Lost: p.About.IsLossy, Damage: r.Damage()}
	return p, in.Outcome(done, err), nil
}

// findInside reads the spans of the probe in which time is counted. Damage is reported when the time is read.
func (q *request) findInside(inv *cli.Invocation, in *cli.Capture) (*profile.Inside, error) {
	r, err := in.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	inside, err := profile.FindInside(r, q.inside)
	if err != nil && !cli.EndsWell(err) {
		return nil, in.Error(err)
	}
	if !inside.IsSeen {
		inv.Warnf("%s: the capture has no span of a probe %s, so that the output is empty; it has spans of %s", in.Name, printable.Text(q.inside), list(inside.Others))
	}
	return inside, nil
}

// list returns names for a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return printable.Text(strings.Join(names, ", "))
}

// warnOfNoLines reports that --lines and --inline show nothing. Two ranges of one capture need only one message.
func (q *request) warnOfNoLines(inv *cli.Invocation, p *profile.Profile, name string) {
	if !q.view.Lines && !q.view.Inline || !p.About.UserFrames || p.About.SourceLines || q.lineless == name {
		return
	}
	q.lineless = name
	inv.Warnf("%s: no frame has a source line: record with --lines, or run wprof-symbolize first", name)
}

// openOther opens the capture that the input is compared with; nil without --diff.
func (q *request) openOther(inv *cli.Invocation, in *cli.Capture) (*cli.Capture, error) {
	if !q.diff {
		return nil, nil
	}
	paths := []string{q.other}
	if q.other == "" {
		if paths = inv.Args; !format.IsFinite(in.In) {
			return nil, cli.Usagef("two ranges of one capture need a file that can be read twice; name a FILE")
		}
	} else if q.other == "-" && (len(inv.Args) == 0 || inv.Args[0] == "-") {
		return nil, cli.Usagef("--diff - and the input cannot both be standard input")
	}
	return inv.OpenCapture("fold", restShown, paths...)
}

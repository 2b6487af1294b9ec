package flame

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
	"wprof/internal/stacks"
)

// request is what the flags select.
type request struct {
	view     graph.View
	text     folded.Text
	collect  profile.Options
	outputs  []output
	report   reportPrefix // "" for none
	folder   string       // for the files of each thread; "" for none
	buckets  time.Duration
	diff     bool
	inside   string // a probe, in whose spans time is counted; "": anywhere
	events   string // the flag that names the events that are counted: event or probe
	unfold   bool   // --unfold-idle
	ranged   bool   // --diff-start or --diff-end was given
	other    string // the capture to compare with; "": the input itself
	input    filter.Options
	base     filter.Options // of the capture to compare with
	filtered bool           // flags of the filter were given, but for those of only
	only     filter.Spec    // the threads that are shown, where others explain what they wait for
	reports  *report.Collector
	lineless string // the capture that was reported to have no source lines
}

// form is an output format.
type form string

const (
	formFolded     form = "folded"
	formSVG        form = "svg"
	formHTML       form = "html"
	formPprof      form = "pprof"
	formSpeedscope form = "speedscope"
	formAnalysis   form = "analysis"
	formReport     form = "report" // its summary; not in forms, because a report has other outputs too
)

// forms returns all output formats that have a flag of their own name.
func forms() []form {
	return []form{formFolded, formSVG, formHTML, formPprof, formSpeedscope, formAnalysis}
}

// output is a format and its path; "": that of -o.
type output struct {
	form    form
	path    string
	isShown bool // in the browser
	isOwn   bool // its path is not that of -o
}

const (
	// maxBuckets bounds the number of files of --buckets.
	maxBuckets = 10_000
	// pageSlots is the maximum number of time slots of a page; it has at least half of that.
	pageSlots   = 512
	pageSlotMin = int64(time.Millisecond)
)

func parse(inv *cli.Invocation) (*request, error) {
	q := &request{}
	for _, step := range []func(*cli.Invocation) error{q.readMode, q.readFrames, q.readOutputs, q.readFilters, q.readDiff, q.readBuckets} {
		if err := step(inv); err != nil {
			return nil, err
		}
	}
	q.setDetail()
	return q, nil
}

func (q *request) readMode(inv *cli.Invocation) error {
	modes := map[string]graph.Mode{"wall": graph.Wall, "on-cpu": graph.OnCPU, "off-cpu": graph.OffCPU, "waker": graph.Waker, "wakeup-chain": graph.Waker, "event": graph.Events, "probe": graph.Events}
	given := ""
	for _, name := range []string{"wall", "on-cpu", "off-cpu", "waker", "wakeup-chain", "event", "probe"} {
		if !inv.IsSet(name) {
			continue
		}
		if given != "" && !(given == "waker" && name == "wakeup-chain") {
			return cli.Usagef("--%s and --%s exclude each other; give one of them", given, name)
		}
		given, q.view.Mode = name, modes[name]
	}
	if q.view.Mode == graph.Waker {
		q.collect.Wakes = max(1, inv.Int("wakeup-chain"))
	}
	if err := q.readEvents(inv, given); err != nil {
		return err
	}
	if q.inside = inv.String("inside"); q.inside != "" && q.view.Mode == graph.Events {
		return cli.Usagef("--inside is for time, and --%s counts events", given)
	}
	q.view.NoIdleWaits = inv.Bool("no-idle-waits")
	q.unfold = inv.Bool("unfold-idle")
	q.collect.Spread = inv.String("spread") == "thread"
	q.collect.MinBlock = int64(inv.Duration("min-block"))
	units := map[string]folded.Unit{"ns": folded.Nanoseconds, "us": folded.Microseconds, "ms": folded.Milliseconds, "samples": folded.Samples}
	q.text.Unit = units[inv.String("unit")]
	return nil
}

// readEvents reads which events are counted, and their weight; given is the flag of the mode.
func (q *request) readEvents(inv *cli.Invocation, given string) error {
	weight := inv.String("weight")
	if q.view.Mode != graph.Events {
		if weight != "" {
			return cli.Usagef("--weight is for --event and --probe")
		}
		return nil
	}
	q.events, q.collect.Events, q.collect.Probes = given, inv.Strings(given), given == "probe"
	q.collect.Weight.Count = weight == weightCount
	q.collect.Weight.Arg = strings.TrimPrefix(weight, weightArg)
	if !strings.HasPrefix(weight, weightArg) {
		q.collect.Weight.Arg = ""
		return nil
	}
	if inv.IsSet("unit") {
		return cli.Usagef("--unit is for times; with --weight %s the weights are numbers of the events", weight)
	}
	return nil
}

func (q *request) readFrames(inv *cli.Invocation) error {
	roots := map[string]graph.Root{"process": graph.ByProcess, "thread": graph.ByThread, "comm": graph.ByComm, "cpu": graph.ByCPU, "wait": graph.ByWait, "cgroup": graph.ByCgroup, "container": graph.ByContainer, "none": graph.ByNone}
	q.view.By = roots[inv.String("by")]
	q.view.States, q.view.Reverse = inv.Bool("state"), inv.Bool("reverse")
	q.view.Inline, q.view.Lines = inv.Bool("inline"), inv.Bool("lines")
	q.collect.Inline, q.collect.Lines = q.view.Inline, q.view.Lines
	q.collect.KernelFrames = inv.Bool("kernel-frames")
	q.collect.Python = stacks.PythonViewOf(inv.Strings("emit"), inv.Bool(stacks.NoPython))
	q.text.Kernel = inv.Bool("kernel-suffix")
	return nil
}

func (q *request) readOutputs(inv *cli.Invocation) error {
	withoutFile, err := q.readReport(inv)
	if err != nil {
		return err
	}
	for _, f := range forms() {
		if !inv.IsSet(string(f)) {
			continue
		}
		for _, path := range inv.Strings(string(f)) {
			if path == "" && withoutFile != "" {
				return cli.Usagef("--%s and --%s cannot share an output; write --%s=FILE", withoutFile, f, f)
			}
			if path == "" {
				withoutFile = f
			}
			q.outputs = append(q.outputs, output{form: f, path: path})
		}
	}
	if inv.Bool("open") {
		withoutFile = q.readOpen(inv, withoutFile)
	}
	for i, out := range q.outputs {
		if q.view.Mode == graph.Events && out.form != formFolded && out.form != formSVG {
			return cli.Usagef("--%s does not go with --%s; it does with --svg and --folded", q.events, out.form)
		}
		if q.inside != "" && out.form != formFolded && out.form != formSVG && out.form != formPprof {
			return cli.Usagef("--inside does not go with --%s; it does with --folded, --svg and --pprof", out.form)
		}
		if q.collect.Weight.Arg != "" && out.form != formFolded {
			return cli.Usagef("--weight %s does not go with --%s; it does with --folded", inv.String("weight"), out.form)
		}
		for _, before := range q.outputs[:i] {
			if q.pathOf(inv, out) != "" && q.pathOf(inv, out) == q.pathOf(inv, before) {
				return cli.Usagef("--%s and --%s both write %s; name another file for one", before.form, out.form, q.pathOf(inv, out))
			}
		}
	}
	if inv.IsSet("per-thread") {
		q.folder = inv.String("per-thread")
	}
	if len(q.outputs) == 0 && (q.folder == "" || inv.IsSet("output")) {
		q.outputs, withoutFile = []output{{form: formFolded}}, formFolded
	}
	if withoutFile == "" && inv.IsSet("output") {
		return cli.Usagef("-o %s would stay empty: every output has a file of its own", inv.String("output"))
	}
	if q.view.Mode == graph.Events && q.folder != "" {
		return cli.Usagef("--%s does not go with --per-thread", q.events)
	}
	if q.inside != "" && q.folder != "" {
		return cli.Usagef("--inside does not go with --per-thread")
	}
	if inv.IsSet("per-thread") && q.folder == "" {
		return cli.Usagef("--per-thread needs a folder")
	}
	return nil
}

// readOpen chooses the output that the browser shows, and adds one if there is none that it can show. The result is the form of the
// output that goes to -o.
func (q *request) readOpen(inv *cli.Invocation, withoutFile form) form {
	for _, f := range []form{formHTML, formSVG} {
		if i := slices.IndexFunc(q.outputs, func(out output) bool { return out.form == f }); i >= 0 {
			q.outputs[i].isShown = true
			return withoutFile
		}
	}
	page := output{form: formHTML, isShown: true, isOwn: withoutFile != ""}
	if q.view.Mode == graph.Events || inv.IsSet("diff") || inv.IsSet("diff-start") || inv.IsSet("diff-end") {
		page.form = formSVG // no page shows these
	}
	q.outputs = append(q.outputs, page)
	if page.isOwn {
		return withoutFile
	}
	return page.form
}

// readReport adds a report to the outputs. withoutFile is its summary.
func (q *request) readReport(inv *cli.Invocation) (withoutFile form, err error) {
	if !inv.IsSet("report") {
		return "", nil
	}
	if inv.IsSet("per-thread") {
		return "", cli.Usagef("--report writes the files of each thread itself; leave out --per-thread")
	}
	q.report = reportPrefix(inv.String("report"))
	q.outputs, q.folder = q.report.outputs(), q.report.folder()
	return formReport, q.report.check()
}

// pathOf returns the path of an output; "" for standard output.
func (q *request) pathOf(inv *cli.Invocation, out output) string {
	path := out.path
	if path == "" {
		path = inv.String("output")
	}
	if path == "" || path == "-" {
		return ""
	}
	return filepath.Clean(path)
}

func (q *request) readFilters(inv *cli.Invocation) error {
	o, err := filter.OptionsFrom(inv)
	q.filtered = filter.FlagsGiven(inv)
	if q.view.Mode == graph.Waker || q.analyses() { // the others explain what these wait for
		q.only, o.Threads = o.Threads, filter.Spec{}
		q.filtered = filter.EventFlagsGiven(inv)
	}
	q.input, q.base = o, o
	q.collect.Idle = inv.Bool("idle") || inv.Bool("idle-threads")
	if err == nil && q.view.Mode != graph.Events && !o.Kinds.Has(format.KindSwitch) {
		return cli.Usagef("events of kind switch are needed to know how threads spend their time")
	}
	return err
}

func (q *request) readDiff(inv *cli.Invocation) error {
	q.other = inv.String("diff")
	q.ranged = inv.IsSet("diff-start") || inv.IsSet("diff-end")
	if q.diff = inv.IsSet("diff") || q.ranged; !q.diff {
		return nil
	}
	if inv.IsSet("diff") && q.other == "" {
		return cli.Usagef("--diff names no capture")
	}
	for _, out := range q.outputs {
		if out.form != formFolded && out.form != formSVG && out.form != formHTML {
			return cli.Usagef("--diff does not go with --%s; it does with --svg, --html and --folded", out.form)
		}
	}
	if q.folder != "" {
		return cli.Usagef("--diff does not go with --per-thread")
	}
	if !inv.IsSet("by") {
		q.view.By = graph.ByComm
	}
	q.collect.Memory = profile.BothRoom / 2
	var err error
	if q.base.Start, err = filter.ParseBound(inv.String("diff-start")); err != nil {
		return cli.Usagef("--diff-start: %w", err)
	}
	if q.base.End, err = filter.ParseBound(inv.String("diff-end")); err != nil {
		return cli.Usagef("--diff-end: %w", err)
	}
	return nil
}

func (q *request) readBuckets(inv *cli.Invocation) error {
	if q.buckets = inv.Duration("buckets"); q.buckets == 0 {
		if inv.IsSet("buckets") {
			return cli.Usagef("--buckets 0 has no length; give one like 100ms")
		}
		return nil
	}
	switch {
	case q.diff:
		return cli.Usagef("--buckets does not go with --diff")
	case len(q.outputs) != 1 || q.outputs[0].form != formFolded || q.folder != "":
		return cli.Usagef("--buckets writes folded stacks and nothing else")
	case q.view.Mode == graph.Events:
		return cli.Usagef("--buckets does not go with --%s", q.events)
	case q.text.Unit == folded.Samples:
		return cli.Usagef("--buckets does not go with --unit samples: intervals are split by time")
	}
	if q.outputs[0].path == "" {
		q.outputs[0].path = inv.String("output")
	}
	if path := q.outputs[0].path; path == "" || path == "-" {
		return cli.Usagef("--buckets writes several files; name them with -o FILE")
	}
	return nil
}

// analyses reports whether there is an analysis among the outputs.
func (q *request) analyses() bool {
	return q.folder != "" || slices.ContainsFunc(q.outputs, func(out output) bool { return out.form == formAnalysis })
}

// setDetail sets what the profile must keep apart for the outputs.
func (q *request) setDetail() {
	c := &q.collect
	c.CPUs = q.view.By == graph.ByCPU
	c.Objects = q.view.By == graph.ByWait
	c.Cgroups = q.view.By.OnCgroup()
	c.Threads = q.view.By == graph.ByThread || q.folder != "" || c.Spread && (c.CPUs || q.buckets > 0) // whose samples are few depends on CPU or range
	for _, out := range q.outputs {
		switch out.form {
		case formHTML:
			c.Threads, c.Objects, c.Cgroups = true, true, true
			c.Slot, c.MaxSlots, c.Stretch = pageSlotMin, pageSlots, true
		case formPprof:
			c.Threads, c.Addresses, c.CPUs = true, true, true
		case formSpeedscope:
			c.Threads, c.Addresses, c.Trail = true, true, true
		case formAnalysis:
			c.Threads = true
		}
	}
	if q.buckets > 0 {
		c.Slot, c.MaxSlots = int64(q.buckets), maxBuckets
	}
}

package ndjson

import (
	"cmp"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/chrome"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/firefox"
	"wprof/internal/records"
	"wprof/internal/reread"
	"wprof/internal/stacks"
)

const restWritten = "the output has all the rest"

// Run is the tool.
func Run(inv *cli.Invocation) error {
	if inv.IsSet("schema") {
		return printSchema(inv)
	}
	q, err := parse(inv)
	if err != nil {
		return err
	}
	in, err := inv.OpenCapture("convert", restWritten, inv.Args...)
	if err != nil {
		return err
	}
	defer in.Close()
	if q.hasRange {
		messages := filter.Messages{Start: "--start", End: "--end", Empty: "the output has no events", Rest: restWritten}
		part, err := filter.NewFilteredReader(inv, in.In, in.Name, q.times, messages)
		if err != nil {
			return err
		}
		in.Filter(part)
	}
	j := &job{request: q, inv: inv, in: in}
	if q.parquet != "" {
		return j.columns()
	}
	return j.run()
}

// request holds the values of the flags.
type request struct {
	Options
	chrome   bool
	firefox  bool
	parquet  string         // the folder; "": none
	times    filter.Options // the time range
	hasRange bool
}

func parse(inv *cli.Invocation) (*request, error) {
	q := &request{
		Options: Options{
			Nanoseconds: inv.String("time") == "ns", NoStacks: inv.Bool("no-stacks"), NUMA: emits(inv, "numa"), Cgroups: emits(inv, "cgroup"), PrevStack: emits(inv, "prev-stack"),
			Array: inv.Bool("array"), Stream: inv.Bool("stream"), Fields: splitLists(inv.Strings("fields")),
			Python: stacks.PythonViewOf(inv.Strings("emit"), inv.Bool(stacks.NoPython)),
		},
		chrome: inv.Bool("chrome"), firefox: inv.Bool("firefox"), parquet: inv.String("parquet"), hasRange: inv.IsSet("start") || inv.IsSet("end"),
	}
	q.Kinds = kindsOf(splitLists(inv.Strings("kind")))
	q.NUMA = q.NUMA || slices.Contains(q.Fields, "numa")
	for _, k := range records.Kinds() {
		if slices.Contains(q.Kinds, k.Kind) && !k.IsAvailable() {
			inv.Warnf("no capture has events of kind %s: the recorder does not record them yet", k.Name)
		}
	}
	var err error
	if q.times, err = filter.RangeFrom(inv); err != nil {
		return nil, err
	}
	return q, q.refuse(inv)
}

// refuse returns an error for flags that exclude each other.
func (q *request) refuse(inv *cli.Invocation) error {
	form, without := "", []string(nil)
	switch {
	case q.parquet == "-":
		return cli.Usagef("--parquet writes a folder of files, and - is not a folder; name a folder")
	case q.parquet != "" && inv.IsSet("time") && !q.Nanoseconds:
		return cli.Usagef("--parquet writes whole nanoseconds; leave out --time s")
	case q.parquet != "":
		form, without = "--parquet", []string{"chrome", "firefox", "array", "stream", "fields", "output"}
	case q.chrome:
		form, without = "--chrome", []string{"firefox", "array", "stream", "fields", "kind", "time"}
	case q.firefox:
		form, without = "--firefox", []string{"array", "stream", "fields", "kind", "time"}
	}
	if q.PrevStack && (form != "" || q.Stream) {
		return cli.Usagef("-e prev-stack is for lines or --array, which are written after the input has been read; leave out %s", cmp.Or(form, "--stream"))
	}
	if q.firefox && (q.NUMA || q.Cgroups) {
		return cli.Usagef("-e numa and -e cgroup add fields to lines, which --firefox does not write; leave out --firefox")
	}
	if q.Cgroups && q.chrome {
		return cli.Usagef("-e cgroup is for lines, --array and --parquet; leave out --chrome")
	}
	for _, name := range without {
		if inv.IsSet(name) {
			return cli.Usagef("%s does not go with --%s; give one of them", form, name)
		}
	}
	return nil
}

// emits reports whether -e names a feature.
func emits(inv *cli.Invocation, name string) bool {
	return slices.Contains(splitLists(inv.Strings("emit")), name)
}

// splitLists returns the entries of comma-separated lists; nil: no list was given.
func splitLists(lists []string) (all []string) {
	for _, list := range lists {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

func printSchema(inv *cli.Invocation) error {
	if len(inv.Args) > 0 {
		return cli.Usagef("--schema takes no file, but %s was given; --schema=md writes Markdown", inv.Args[0])
	}
	text, err := Schema()
	if forms := inv.Strings("schema"); forms[len(forms)-1] == "md" {
		text, err = Markdown()
	}
	if err != nil {
		return cli.Failf("%w", err)
	}
	out, err := inv.CreateOutput(inv.String("output"), false)
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := out.Write(text); err != nil {
		return cli.Failf("%w", err)
	}
	return out.Commit()
}

// job is one conversion.
type job struct {
	*request
	inv *cli.Invocation
	in  *cli.Capture
}

// run writes one of the forms that consist of one file.
func (j *job) run() error {
	out, err := j.inv.CreateOutput(j.inv.String("output"), false)
	if err != nil {
		return err
	}
	defer out.Abort()
	if !j.Stream && !j.chrome && !j.firefox {
		return j.writeTwice(out)
	}
	r, err := j.in.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	var result Result
	switch {
	case j.chrome:
		var done chrome.Result
		done, err = chrome.Write(r, out, chrome.Options{NoStacks: j.NoStacks, Python: j.Python, Numa: j.NUMA})
		result = Result{Events: done.Events, Lost: done.Lost, DroppedThreads: done.DroppedThreads, NotUTF8: done.NotUTF8}
	case j.firefox:
		var done firefox.Result
		done, err = firefox.Write(r, out, firefox.Options{NoStacks: j.NoStacks, Python: j.Python})
		result = Result{Events: done.Events, Lost: done.Lost, DroppedThreads: done.DroppedThreads, NotUTF8: done.NotUTF8}
	default:
		result, err = Stream(r, out, j.Options, !format.IsFinite(j.in.In), len(j.inv.Args) < 2)
	}
	result.Damage = r.Damage()
	return j.finish(result, err, out)
}

// writeTwice reads the input twice, because the header has values that are known only at its end.
func (j *job) writeTwice(out *cli.Output) error {
	again, err := reread.From(j.in.In, "wprof-json", ", and --stream does without")
	if err != nil {
		return j.in.Error(err)
	}
	defer again.Close()
	if _, err := again.Open(); err != nil {
		return j.in.Error(err)
	}
	result, err := Write(again.Open, out, j.Options)
	return j.finish(result, err, out)
}

// finish completes outputs and reports.
func (j *job) finish(result Result, err error, outputs ...*cli.Output) error {
	if err := j.in.Commit(err, outputs...); err != nil {
		return err
	}
	if result.NotUTF8 != "" {
		j.inv.Warnf("bytes of names that are not UTF-8 were replaced by U+FFFD; the first such name is %q", result.NotUTF8)
	}
	if result.DroppedStacks > 0 {
		j.inv.Warnf("%s of switches left out, because -e prev-stack takes no more; wprof-json --start and --end select a part", cli.Counted(uint64(result.DroppedStacks), "stack"))
	}
	return j.in.Outcome(cli.CaptureResult{DroppedThreads: result.DroppedThreads, Lost: result.Lost, Damage: result.Damage}, err)
}

package ndjson

import (
	"errors"
	"io"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/chrome"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/records"
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
	in, name, err := inv.OpenInputs()
	if err != nil {
		return err
	}
	defer in.Close()
	j := &job{request: q, inv: inv, name: name, in: in}
	if q.asked {
		words := filter.Words{Start: "--start", End: "--end", Empty: "the output has no events", Rest: restWritten}
		if j.through, err = filter.NewThrough(inv, in, name, q.times, words); err != nil {
			return err
		}
		defer j.through.Close()
		j.in = j.through
	}
	return j.run()
}

// request is what the flags ask for.
type request struct {
	Options
	chrome  bool
	parquet string         // the folder; "": none
	times   filter.Options // the time range
	asked   bool           // there is one
}

func parse(inv *cli.Invocation) (*request, error) {
	q := &request{
		Options: Options{
			Nanoseconds: inv.String("time") == "ns", NoStacks: inv.Bool("no-stacks"), NUMA: len(inv.Strings("emit")) > 0,
			Array: inv.Bool("array"), Stream: inv.Bool("stream"), Fields: words(inv.Strings("fields")),
		},
		chrome: inv.Bool("chrome"), parquet: inv.String("parquet"), asked: inv.IsSet("start") || inv.IsSet("end"),
	}
	q.Kinds = kindsOf(words(inv.Strings("kind")))
	q.NUMA = q.NUMA || slices.Contains(q.Fields, "numa")
	for _, k := range records.Kinds() {
		if slices.Contains(q.Kinds, k.Kind) && !k.IsAvailable() {
			inv.Warnf("no capture has events of kind %s yet: the recorder has no source of them", k.Name)
		}
	}
	var err error
	if q.times, err = filter.RangeFrom(inv); err != nil {
		return nil, err
	}
	return q, q.refuse(inv)
}

// refuse finds flags that do not go together.
func (q *request) refuse(inv *cli.Invocation) error {
	form, without := "", []string(nil)
	switch {
	case q.parquet == "-":
		return cli.Usagef("--parquet writes a folder of files, and - is none; name a folder")
	case q.parquet != "" && inv.IsSet("time") && !q.Nanoseconds:
		return cli.Usagef("--parquet writes whole nanoseconds; leave out --time s")
	case q.parquet != "":
		form, without = "--parquet", []string{"chrome", "array", "stream", "fields", "output"}
	case q.chrome:
		form, without = "--chrome", []string{"array", "stream", "fields", "kind", "time"}
	}
	for _, name := range without {
		if inv.IsSet(name) {
			return cli.Usagef("%s does not go with --%s; give one of them", form, name)
		}
	}
	return nil
}

// words are the entries of lists with commas between them; nil: no list was given.
func words(lists []string) (all []string) {
	for _, list := range lists {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

func printSchema(inv *cli.Invocation) error {
	if len(inv.Args) > 0 {
		return cli.Usagef("--schema reads nothing, and %s is left over; --schema=md writes it for people", inv.Args[0])
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
	inv     *cli.Invocation
	name    string
	in      io.Reader
	through *filter.Through // nil: no time range was asked for
}

func (j *job) run() error {
	if j.parquet != "" {
		return j.columns()
	}
	out, err := j.inv.CreateOutput(j.inv.String("output"), false)
	if err != nil {
		return err
	}
	defer out.Abort()
	result, err := j.write(out)
	if err != nil && !endsWell(err) {
		return cli.InputError("convert", j.name, err)
	}
	if err := out.Commit(); err != nil {
		return err
	}
	return j.verdict(result, err)
}

func (j *job) write(out io.Writer) (Result, error) {
	if j.Stream || j.chrome {
		r, err := format.NewReader(j.in)
		if err != nil {
			return Result{}, fatal(err)
		}
		defer r.Close()
		if j.chrome {
			return j.writeChrome(r, out)
		}
		return Stream(r, out, j.Options, !format.IsFinite(j.in), len(j.inv.Args) < 2)
	}
	again, err := reread(j.in)
	if err != nil {
		return Result{}, fatal(err)
	}
	defer again.close()
	if _, err := again.open(); err != nil {
		return Result{}, fatal(err)
	}
	return Write(again.open, out, j.Options)
}

func (j *job) writeChrome(r *format.Reader, out io.Writer) (Result, error) {
	done, err := chrome.Write(r, out, chrome.Options{NoStacks: j.NoStacks, Numa: j.NUMA})
	return Result{Events: done.Events, Lost: done.Lost, Forgotten: done.Forgotten, NotUTF8: done.NotUTF8, Damage: r.Damage()}, err
}

// fatalError is one with which there is no output, of whatever sort it is.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

func fatal(err error) error { return fatalError{err} }

// endsWell tells whether the output is complete up to where the input could not be read.
func endsWell(err error) bool {
	if errors.As(err, new(fatalError)) {
		return false
	}
	return cli.EndsWell(err)
}

// verdict says what happened, in messages and by the error's exit status.
func (j *job) verdict(result Result, err error) error {
	if result.NotUTF8 != "" {
		j.inv.Warnf("names that are not UTF-8 have U+FFFD in place of what is not; the first is %q", result.NotUTF8)
	}
	j.inv.Forgot(j.name, result.Forgotten)
	switch {
	case err != nil:
		return cli.InputError("convert", j.name, err)
	case j.through != nil:
		return j.through.Outcome()
	case result.Damage != nil:
		return cli.Damaged(j.name, result.Damage, restWritten)
	}
	return j.inv.Lost(j.name, result.Lost)
}

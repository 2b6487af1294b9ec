package perfetto

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/reread"
)

// reduction is a step by which --max-mb makes a trace smaller.
type reduction struct {
	name  string // of what is left out
	apply func(*Options)
}

// reductions are taken in this order, each beside those before it, until the trace fits. What is left then is cut at its end.
func reductions() []reduction {
	blocked := func(length time.Duration) reduction {
		return reduction{fmt.Sprintf("blocked intervals below %s", length), func(o *Options) { o.BlockedMin = max(o.BlockedMin, length) }}
	}
	return []reduction{
		{"parts that -e added", func(o *Options) {
			o.Runs, o.Sleepers, o.Arrows, o.Extras, o.TIDPID, o.TimerTicks, o.EmbedStacks, o.Preempted, o.Cores = false, false, false, false, false, false, false, false, false
		}},
		blocked(10 * time.Millisecond),
		blocked(100 * time.Millisecond),
		{"the thread view", func(o *Options) { o.Threads = o.Threads && !o.Sched }},
		{"wakeups", func(o *Options) { o.NoWakings = true }},
	}
}

// ReductionNames are the names of what --max-mb leaves out, in order.
func ReductionNames() (names []string) {
	for _, r := range reductions() {
		names = append(names, r.name)
	}
	return append(names, "the end of the capture")
}

// fitting finds what of a capture fits into a trace of a size.
type fitting struct {
	inv   *cli.Invocation
	in    *cli.Capture
	again *reread.Input
	most  int64 // bytes
}

// choose returns the options with which the trace fits, and what they leave out. Where no options do, the capture is cut.
func (f *fitting) choose(o Options) (Options, []string, error) {
	var dropped []string
	_, err := f.try(f.again.File(), o)
	for _, r := range reductions() {
		if !errors.Is(err, errFull) {
			return o, dropped, err
		}
		before := o
		if r.apply(&o); o == before {
			continue
		}
		dropped = append(dropped, r.name)
		_, err = f.try(f.again.File(), o)
	}
	if !errors.Is(err, errFull) {
		return o, dropped, err
	}
	cut, err := f.cut(o)
	return o, append(dropped, cut), err
}

// cut cuts the capture where the trace would be full if its bytes were spread evenly, or earlier, as often as needed.
func (f *fitting) cut(o Options) (string, error) {
	whole, err := f.convert(f.again.File(), o, math.MaxInt64)
	if err != nil {
		return "", err
	}
	length := int64(float64(whole.Until-whole.Opened) * float64(f.most) / float64(max(whole.Bytes, 1)))
	for range maxCuts {
		part, err := f.part(length)
		if err != nil {
			return "", err
		}
		_, err = f.try(part, o)
		part.Close()
		if !errors.Is(err, errFull) {
			if err != nil {
				return "", err
			}
			break
		}
		length -= length / 8
	}
	part, err := f.part(length)
	if err != nil {
		return "", err
	}
	f.in.Filter(part)
	return fmt.Sprintf("everything after %s", time.Duration(length).Round(time.Microsecond)), nil
}

// maxCuts bounds how often the end is made earlier, each time by an eighth.
const maxCuts = 16

// part is the capture up to a time from its opening.
func (f *fitting) part(length int64) (*filter.FilteredReader, error) {
	end, err := filter.ParseBound(fmt.Sprintf("%dns", length))
	if err != nil {
		return nil, cli.Failf("cut the capture: %w", err)
	}
	o := filter.Options{Kinds: filter.MakeKindSet(nil, nil), End: end, Version: cli.Version(), Command: fmt.Sprintf("wprof-perfetto --max-mb (until %dns)", length)}
	return filter.NewFilteredReader(f.inv, f.again.File(), f.in.Name, o, filter.Messages{Rest: restShown})
}

// try converts a capture as far as it fits; its error is errFull where it does not.
func (f *fitting) try(in io.Reader, o Options) (Summary, error) { return f.convert(in, o, f.most) }

func (f *fitting) convert(in io.Reader, o Options, most int64) (Summary, error) {
	r, err := format.NewReader(in)
	if err != nil {
		return Summary{}, f.in.Error(err)
	}
	defer r.Close()
	done, err := Convert(r, &limited{left: most}, o)
	if err != nil && !errors.Is(err, errFull) {
		err = nil // the conversion that follows reports it
	}
	return done, err
}

// errFull is the error of a trace that does not fit.
var errFull = errors.New("the trace is larger than --max-mb")

// limited takes a number of bytes.
type limited struct{ left int64 }

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

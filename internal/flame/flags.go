package flame

import (
	"errors"
	"strconv"

	"wprof/internal/cli"
)

// maxChain is the longest chain of wakers.
const maxChain = 16

// TimeFlags choose what is counted.
func TimeFlags() cli.Group {
	return cli.Group{Title: "Which time", Flags: []cli.Flag{
		{Name: "wall", Usage: "All time, on the CPU and off it. This is the default. The last frame of a stack ends in _[c] where the thread ran and in _[o] where it did not."},
		{Name: "on-cpu", Usage: "Time on a CPU. A time on the CPU is shared out among the samples in it; one without a sample is [not sampled]."},
		{Name: "off-cpu", Usage: "Time off the CPU: blocked, at the place where the thread was, and [runnable] above it while it waited for a CPU."},
		{Name: "waker", Usage: "Time off the CPU, and above each stack the stack of its waker, upside down. Waker stacks need wprof-record -S+waker."},
		{Name: "wakeup-chain", Kind: cli.Int, Value: "N", Check: checkChain, Usage: "As --waker, with the waker of the waker above that, and so on: at most N wakers (1 to " + strconv.Itoa(maxChain) + "), and only wakings after the thread had left its CPU."},
		{Name: "event", Kind: cli.List, Value: "NAME", Repeat: true, Usage: "Count events of this name by stack instead: of an event type that the capture defines. Spans count with their time in the window; events without a length count as one each, if there are no spans among the chosen events. For --folded and --svg. Repeatable."},
		{Name: "spread", Kind: cli.String, Value: "SCOPE", Default: "span", Choices: []string{"span", "thread"}, Usage: "How time on a CPU is shared out. span: each time that a thread was on a CPU among the samples in it; one without a sample is [not sampled]. thread: all of a thread's time among all of its samples, evenly. For programs that run in bursts shorter than the time between two samples, span overstates long bursts; thread is right on average, and needs some samples."},
		{Name: "min-block", Kind: cli.Duration, Value: "DURATION", Usage: "Leave out off-CPU times that were shorter. A number without a unit is milliseconds."},
		{Name: "no-idle-waits", Usage: "Leave out waits for work, which are otherwise shown as [idle]: see below. A wait for a lock counts as one if the thread waits for it nearly all the time."},
		{Name: "idle-threads", Usage: "Include the idle threads, whose time is that of CPUs with nothing to do. --idle is a condition: it keeps nothing else."},
		{Name: "unit", Kind: cli.String, Value: "UNIT", Default: "us", Choices: []string{"ns", "us", "ms", "samples"}, Usage: "What folded stacks count: time, or with samples: samples on the CPU, and waits off it (each time that the thread was blocked, and each time that it waited for a CPU); with --event: events."},
	}}
}

// FrameFlags choose the frames of stacks.
func FrameFlags() cli.Group {
	return cli.Group{Title: "Frames", Flags: []cli.Flag{
		{Name: "by", Kind: cli.String, Value: "ROOT", Default: "process", Choices: []string{"process", "thread", "comm", "cpu", "none"}, Usage: "The root frame: NAME-PID of the process, NAME-PID/TID of the thread, the name of the thread (default with --diff), the CPU (off the CPU: where it ran last), or nothing."},
		{Name: "state", Usage: "Add a frame for why a thread was off the CPU: [sleep], [disk wait], [preempted] and so on."},
		{Name: "reverse", Usage: "Innermost frames first: what calls the functions that take the time."},
		{Name: "kernel-suffix", Aliases: []string{"a"}, Usage: "Let the names of the kernel's frames end in _[k]."},
	}}
}

// OutputFlags choose what is written, and where.
func OutputFlags() cli.Group {
	form := func(name, usage string) cli.Flag {
		return cli.Flag{Name: name, Kind: cli.Optional, Value: "FILE", Files: true, Usage: usage}
	}
	return cli.Group{Title: "What to write (several may be given; at most one of them without a FILE)", Flags: []cli.Flag{
		form("folded", "Folded stacks, for flamegraph.pl, inferno and speedscope. This is the default."),
		form("svg", "An interactive flame graph in one SVG file."),
		form("html", "A page on which the time range, the threads and the kind of time can be chosen without running wprof-flame again."),
		form("pprof", "A profile for go tool pprof."),
		form("speedscope", "Each thread in order of time, for speedscope."),
		form("analysis", "Figures as text: time on the CPU, time off it by reason, and the longest waits."),
		{Name: "report", Kind: cli.String, Value: "PREFIX", Files: true, Usage: "Write a full report: PREFIX.svg, PREFIX.folded and PREFIX_single_thread_analysis.txt. If there are several threads, also the folder multithread_PREFIX, with these files for each thread and a table of all threads; files of threads from an earlier report are deleted there. A summary with the file names goes to standard output, or to -o FILE."},
		{Name: "per-thread", Kind: cli.String, Value: "FOLDER", Files: true, Usage: "Write a flame graph, folded stacks and an analysis of each thread into this folder, and a table of all threads."},
		{Name: "buckets", Kind: cli.Duration, Value: "DURATION", Usage: "Write the folded stacks of each interval of this length to a file of its own: with -o out.folded, out.0000.folded and so on. A number without a unit is milliseconds."},
		{Name: "diff", Kind: cli.String, Value: "OTHER", Files: true, Usage: "Compare with this capture: what has grown since is red, what has shrunk blue, scaled to the same recording time. Folded stacks have the other's weight before their own."},
		{Name: "diff-start", Kind: cli.String, Value: "TIME", Usage: "With --diff-end: the time range of the other capture, which is the same one without --diff."},
		{Name: "diff-end", Kind: cli.String, Value: "TIME", Usage: "The end of that range."},
		{Name: "output", Aliases: []string{"o"}, Kind: cli.String, Value: "FILE", Files: true, Usage: "Write what has no file of its own to FILE instead of standard output."},
		{Name: "dry-run", Usage: "Check that the files can be written, and write none. The input is not read."},
		cli.FailOnLoss(),
	}}
}

func checkChain(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxChain {
		return errors.New("the length of a chain is a number from 1 to " + strconv.Itoa(maxChain))
	}
	return nil
}

// Manual returns the sections of the manual page after the flags.
func Manual() []cli.Section {
	return []cli.Section{
		{Title: "How time is counted", Text: "Times come from the scheduler: when each thread came on a CPU and left it. Samples only show where in the code it was in between: each part of a time on the CPU counts for the sample nearest to it. " +
			"The times of a thread add up to its lifetime in the window, to the nanosecond with --unit ns, unless --min-block or --no-idle-waits leave something out. A thread that is blocked through the whole window counts for all of it, with the stack that the recorder took at its end. " +
			"Frames in brackets are no functions: [not sampled] is a time on the CPU without a sample, [no stack] a time off it for which no stack was taken (see wprof-record --offcpu-min), [runnable] is waiting for a CPU, [new] a thread that is still being made, [unknown] time whose events were lost. The idle threads of the CPUs are left out unless --idle-threads or --idle is given."},
		{Title: "Waiting for work", Text: "A server that waits for requests is not slow. Blocked time is [idle] if the thread waited in epoll_wait, poll, select, accept or for a futex (also by their newer variants), and if it spent more than 90% of all its blocked time in that same stack. With a smaller share it counts as blocked at work. On a futex, a wait for a lock and a wait for work look the same: threads that wait for one lock nearly all the time, as in a deadlock, are [idle] too, so look at the [idle] stacks of a program that hangs. Where the kernel's functions have no names, nothing is [idle]."},
	}
}

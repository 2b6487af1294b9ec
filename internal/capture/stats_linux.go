package capture

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/proc"
)

// writeStats prints the statistics of --stats: the cost of kernel programs, rings and recorder.
func (s *session) writeStats(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "program\truns\tns/run\tskipped\t\n")
	for _, p := range s.rec.programCosts() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t\n", p.Name, cli.Grouped(p.Runs), p.Ns/max(p.Runs, 1), cli.Grouped(p.RecursionMisses))
	}
	_ = w.Flush()
	if s.cfg.Stacks.OffCPU {
		fmt.Fprintf(to, "off-CPU stacks: taken %s, for off-CPU times of at least %s\n", s.rec.offCPUPlace, s.cfg.OffCPUMin)
	}
	if s.rec.unwind != nil {
		fmt.Fprintln(to, s.rec.unwind.describe())
	}
	fmt.Fprint(w, "ring\tbytes\tlost\t\n")
	lost := s.lostByRing()
	for i, n := range s.rec.bytesRead() {
		fmt.Fprintf(w, "%d\t%s\t%s\t\n", i, cli.Grouped(n), cli.Grouped(lost[i]))
	}
	_ = w.Flush()
	if usage, err := proc.ReadUsage(); err == nil {
		fmt.Fprintf(to, "recorder: %s of CPU (%s user, %s system), peak memory %s, rings %s; %s\n", seconds(usage.CPU()),
			seconds(usage.User), seconds(usage.System), bytesText(int64(usage.PeakRSS)), bytesText(int64(s.cfg.ringBytes())), s.rec.describePace())
	}
}

// lostByRing adds up the records that did not fit into each ring.
func (s *session) lostByRing() []uint64 {
	lost := make([]uint64, s.cfg.Kernel.Rings)
	for _, loss := range s.summary.Losses {
		if loss.Cpu != format.AllCPUs && (loss.Cause == uint32(format.CauseRing) || loss.Cause == uint32(format.CauseTail)) {
			lost[int(loss.Cpu)%len(lost)] += loss.Count
		}
	}
	return lost
}

// printOpen prints, with -v, that the window has opened, and the settings of the recording.
func (s *session) printOpen() {
	<-s.rec.opened
	if s.rec.openedAt == 0 {
		return
	}
	start := time.Duration(s.rec.openedAt - s.started)
	s.inv.Warnf("window open %s after the start; %s; spool %s", seconds(start), s.rec.describePace(), s.spoolName())
}

func (s *session) spoolName() string {
	if path := s.spool.Path(); path != "" {
		return path
	}
	return "without a name"
}

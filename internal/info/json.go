package info

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"wprof/format"
	"wprof/internal/printable"
	"wprof/internal/topology"
)

// Report is the summary as --json writes it. docs/wprof-info.md describes each field; a test compares the two.
// Lists are never null. A value that is not known is null.
type Report struct {
	Source     string            `json:"source"`
	Bytes      int64             `json:"bytes"`
	Damage     []string          `json:"damage"`
	Recordings []RecordingReport `json:"recordings"`
}

// RecordingReport is one recording of a [Report].
type RecordingReport struct {
	Host          string          `json:"host"`
	KernelRelease string          `json:"kernel_release"`
	KernelVersion string          `json:"kernel_version"`
	Machine       string          `json:"machine"`
	BootID        string          `json:"boot_id"`
	CPUs          int             `json:"cpus"`
	OfflineCPUs   int             `json:"offline_cpus"`
	NUMANodes     int             `json:"numa_nodes"`
	Packages      *int            `json:"packages"`
	Cores         *int            `json:"cores"`
	Caches        []CacheReport   `json:"caches"`
	Start         *string         `json:"start"`
	OpenNs        int64           `json:"open_ns"`
	Prepare       *string         `json:"prepare"`
	Activate      *string         `json:"activate"`
	Requested     *string         `json:"requested"`
	RequestedNs   *int64          `json:"requested_ns"`
	DurationNs    *int64          `json:"duration_ns"`
	SuspendedNs   int64           `json:"suspended_ns"`
	ClockSetNs    int64           `json:"clock_set_ns"`
	Command       []string        `json:"command"`
	History       []string        `json:"history"`
	KeptFromNs    *int64          `json:"kept_from_ns"`
	KeptToNs      *int64          `json:"kept_to_ns"`
	Stretches     int             `json:"stretches"`
	KeptNs        *int64          `json:"kept_ns"`
	Config        []SettingReport `json:"config"`
	Metadata      []SettingReport `json:"metadata"`
	Version       string          `json:"version"`
	RecorderPID   uint32          `json:"recorder_pid"`
	Epochs        int             `json:"epochs"`
	Complete      bool            `json:"complete"`
	Sources       []SourceReport  `json:"sources"`
	Events        uint64          `json:"events"`
	Kinds         []KindReport    `json:"kinds"`
	Types         []TypeReport    `json:"types"`
	RawBytes      uint64          `json:"raw_bytes"`
	StoredBytes   uint64          `json:"stored_bytes"`
	Definitions   uint64          `json:"definitions"`
	Late          uint64          `json:"late"`
	Processes     []ProcessReport `json:"processes"`
	Threads       *ThreadsReport  `json:"threads"`
	Lost          uint64          `json:"lost"`
	Losses        []LossReport    `json:"losses"`
	Samples       *SamplesReport  `json:"samples"`
	Stacks        *StacksReport   `json:"stacks"`
	Counters      *CountersReport `json:"counters"`
	Cost          *CostReport     `json:"cost"`
}

// SettingReport is a name and its value.
type SettingReport struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// SourceReport is a source of samples.
type SourceReport struct {
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	PeriodNs int64  `json:"period_ns"`
}

// KindReport counts the events of one kind.
type KindReport struct {
	Kind      string   `json:"kind"`
	Events    uint64   `json:"events"`
	PerSecond *float64 `json:"per_second"`
	Bytes     uint64   `json:"bytes"`
}

// TypeReport counts the events of one event type.
type TypeReport struct {
	Name      string   `json:"name"`
	Group     string   `json:"group"`
	Events    uint64   `json:"events"`
	PerSecond *float64 `json:"per_second"`
}

// ProcessReport is a process that was on a CPU.
type ProcessReport struct {
	PID     int32        `json:"pid"`
	NSPID   *int32       `json:"ns_pid"`
	Comm    string       `json:"comm"`
	Label   string       `json:"label"`
	Place   *PlaceReport `json:"place"`
	StartNs int64        `json:"start_ns"`
	CPUNs   int64        `json:"cpu_ns"`
}

// PlaceReport is where the first thread of a process was last.
type PlaceReport struct {
	Cgroup    string  `json:"cgroup"`
	Runtime   *string `json:"runtime"`
	Container *string `json:"container"`
	Pod       *string `json:"pod"`
	Unit      *string `json:"unit"`
}

// ThreadsReport is what the threads did, added up: see [ThreadTimes].
type ThreadsReport struct {
	All        bool  `json:"all"`
	ToNs       int64 `json:"to_ns"`
	RunningNs  int64 `json:"running_ns"`
	RunnableNs int64 `json:"runnable_ns"`
	BlockedNs  int64 `json:"blocked_ns"`
	UnknownNs  int64 `json:"unknown_ns"`
}

// LossReport is a number of lost events.
type LossReport struct {
	CPU   *uint32 `json:"cpu"`
	Kind  string  `json:"kind"`
	Type  *string `json:"type"`
	Cause string  `json:"cause"`
	Count uint64  `json:"count"`
}

// SamplesReport is the statistics of the samples that were read.
type SamplesReport struct {
	LookedAt          uint64         `json:"looked_at"`
	All               bool           `json:"all"`
	WithStack         uint64         `json:"with_stack"`
	KernelFrames      uint64         `json:"kernel_frames"`
	KernelFramesNamed uint64         `json:"kernel_frames_named"`
	UserFrames        uint64         `json:"user_frames"`
	UserFramesNamed   uint64         `json:"user_frames_named"`
	UserFramesLined   uint64         `json:"user_frames_lined"`
	UserStacks        uint64         `json:"user_stacks"`
	UserStacksCut     uint64         `json:"user_stacks_cut"`
	UserStackEnds     StackEnds      `json:"user_stack_ends"`
	TooDeep           uint64         `json:"too_deep"`
	Modules           []ModuleReport `json:"modules"`
}

// StackEnds counts user stacks by why they end: see [format.AllStackEnds]. Unknown: it was not recorded.
type StackEnds struct {
	Unknown    uint64 `json:"unknown"`
	Whole      uint64 `json:"whole"`
	TooDeep    uint64 `json:"too_deep"`
	NoCode     uint64 `json:"no_code"`
	NoFrame    uint64 `json:"no_frame"`
	Unreadable uint64 `json:"unreadable"`
	NoTable    uint64 `json:"no_table"`
}

// StacksReport counts the events that may have a stack, those that have one, and how these end, among the events that were read.
type StacksReport struct {
	Off      StackedReport `json:"off_cpu"`
	StillOff StackedReport `json:"still_off"`
	Wakeups  StackedReport `json:"wakeups"`
}

// StackedReport is a number of events, how many of them have a stack, and how the user parts of these end.
type StackedReport struct {
	Events        uint64    `json:"events"`
	WithStack     uint64    `json:"with_stack"`
	UserStacks    uint64    `json:"user_stacks"`
	UserStacksCut uint64    `json:"user_stacks_cut"`
	UserStackEnds StackEnds `json:"user_stack_ends"`
}

// ModuleReport is the statistics of one module's frames and stacks.
type ModuleReport struct {
	Path        string `json:"path"`
	Kernel      bool   `json:"kernel"`
	Frames      uint64 `json:"frames"`
	FramesNamed uint64 `json:"frames_named"`
	StacksCut   uint64 `json:"stacks_cut"`
}

// CostReport is what recording cost.
type CostReport struct {
	UserNs          int64           `json:"user_ns"`
	SystemNs        int64           `json:"system_ns"`
	PeakMemoryBytes uint64          `json:"peak_memory_bytes"`
	RingBytes       uint64          `json:"ring_bytes"`
	SpoolBytes      uint64          `json:"spool_bytes"`
	FramesByTable   uint64          `json:"frames_by_table"`
	FramesByPointer uint64          `json:"frames_by_pointer"`
	Programs        []ProgramReport `json:"programs"`
}

// ProgramReport is what one kernel program cost.
type ProgramReport struct {
	Name    string `json:"name"`
	Runs    uint64 `json:"runs"`
	Ns      uint64 `json:"ns"`
	Skipped uint64 `json:"skipped"`
}

// WriteJSON writes a summary as one JSON object.
func (s *Summary) WriteJSON(w io.Writer, source string) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(s.report(source)); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if _, err := w.Write(printable.JSON(text.Bytes())); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func (s *Summary) report(source string) *Report {
	all := &Report{Source: source, Bytes: s.Bytes, Damage: notNull(s.Damage), Recordings: []RecordingReport{}}
	for i := range s.Recordings {
		all.Recordings = append(all.Recordings, s.Recordings[i].report())
	}
	return all
}

// notNull returns a list that is [] in JSON when empty.
func notNull[T any](all []T) []T { return append([]T{}, all...) }

// converted returns the list of of(x) for each x, never null.
func converted[T, U any](all []T, of func(T) U) []U {
	out := make([]U, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

func (r *Recording) report() RecordingReport {
	s := r.Session
	out := RecordingReport{
		Host: s.Host, KernelRelease: s.KernelRelease, KernelVersion: s.KernelVersion, Machine: s.Machine, BootID: s.BootId,
		OpenNs: s.Open, Command: notNull(s.Command), History: notNull(s.History), Version: s.Version, RecorderPID: s.RecorderPid,
		Config: converted(s.Config, setting), Metadata: converted(s.Metadata, setting),
		Epochs: r.Epochs - len(r.Stretches) + 1, Stretches: r.stretches(), Complete: !r.Cut, Events: r.Events, RawBytes: r.Raw, StoredBytes: r.Stored,
		Definitions: r.Defined, Late: r.Late, Lost: r.lost(),
		Sources: converted(s.Sources, func(x *format.Source) SourceReport { return SourceReport{x.Id, x.Name, x.Period} }),
		Kinds:   converted(r.Kinds, r.kindReport), Types: converted(r.Types, r.typeReport),
		Processes: converted(r.Processes, func(p *format.ProcessTime) ProcessReport {
			report := ProcessReport{PID: p.Pid, Comm: string(p.Comm), Label: r.labels.of(p), StartNs: p.Start, CPUNs: p.Ns}
			if p.NsPid != 0 {
				report.NSPID = &p.NsPid
			}
			if path, in := r.labels.cgroupOf(p); path != "" {
				report.Place = &PlaceReport{path, orNull(in.Runtime), orNull(in.ID), orNull(in.Pod), orNull(in.Unit)}
			}
			return report
		}),
		Threads: r.threadsReport(),
		Losses:  converted(r.Losses, lossReport),
		Samples: r.Sampled.report(), Stacks: r.Waits.report(),
		Counters: r.countersReport(),
		Cost:     costReport(r.Cost),
	}
	out.setCPUs(topology.Of(s))
	out.Start = timeOrNull(r.start())
	out.Prepare, out.Activate = orNull(s.Prepare), orNull(s.Activate)
	if s.Requested != 0 {
		out.Requested, out.RequestedNs = timeOrNull(format.WallTime(r.Clocks, s.Requested)), &s.Requested
	}
	j := r.jumps()
	out.SuspendedNs, out.ClockSetNs = j.suspended, j.set
	if d := r.window(); d > 0 {
		out.DurationNs = &d
	}
	if s.RangeStart != 0 {
		from := s.RangeStart - s.Open
		out.KeptFromNs = &from
	}
	_, to := r.kept()
	if to -= s.Open; s.RangeEnd != 0 || r.stretches() > 1 {
		out.KeptToNs = &to
	}
	if d := r.length(); d > 0 {
		out.KeptNs = &d
	}
	return out
}

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return orNull(t.Format(time.RFC3339Nano))
}

func setting(kv *format.KeyValue) SettingReport { return SettingReport{kv.Key, kv.Value} }

func (r *Recording) kindReport(k *format.KindCount) KindReport {
	return KindReport{Kind: kindName(k.Kind), Events: k.Events, PerSecond: r.rateOrNil(k.Events), Bytes: k.Bytes}
}

func (r *Recording) typeReport(t *format.TypeCount) TypeReport {
	return TypeReport{Name: string(t.Name), Group: string(t.Group), Events: t.Events, PerSecond: r.rateOrNil(t.Events)}
}

// rateOrNil returns the rate of n events in the time that the capture holds; nil: its length is not known.
func (r *Recording) rateOrNil(n uint64) *float64 {
	d := r.length()
	if d == 0 {
		return nil
	}
	rate := float64(n) / (float64(d) / 1e9)
	return &rate
}

func lossReport(l *format.Loss) LossReport {
	out := LossReport{Kind: kindName(l.Kind), Cause: causeName(l.Cause), Count: l.Count}
	if l.Cpu != format.AllCPUs {
		out.CPU = &l.Cpu
	}
	if len(l.Type) > 0 {
		of := printable.Text(string(l.Type))
		out.Type = &of
	}
	return out
}

func (w *Waits) report() *StacksReport {
	if w == nil {
		return nil
	}
	one := func(s Stacked) StackedReport {
		return StackedReport{s.All, s.WithStack, s.User.All, s.User.Cut, s.User.ends()}
	}
	return &StacksReport{one(w.Off), one(w.Still), one(w.Woken)}
}

func (r *Recording) threadsReport() *ThreadsReport {
	t := r.Threads
	if t == nil {
		return nil
	}
	return &ThreadsReport{t.All, t.To - r.Session.Open, t.Running, t.Runnable, t.Blocked, t.Unknown}
}

func (s *Sampled) report() *SamplesReport {
	if s == nil {
		return nil
	}
	return &SamplesReport{
		LookedAt: s.Samples, All: s.All, WithStack: s.WithStack,
		KernelFrames: s.Kernel.Frames, KernelFramesNamed: s.Kernel.Named,
		UserFrames: s.User.Frames, UserFramesNamed: s.User.Named, UserFramesLined: s.User.Lined,
		UserStacks: s.UserStacks.All, UserStacksCut: s.UserStacks.Cut, TooDeep: s.TooDeep,
		UserStackEnds: s.UserStacks.ends(),
		Modules: converted(s.Modules, func(m *ModuleCount) ModuleReport {
			return ModuleReport{m.Path, m.Kernel, m.Frames, m.Named, s.UserStacks.CutIn[m]}
		}),
	}
}

// isCostUnknown reports whether the recorder was killed before it wrote its cost.
func isCostUnknown(c *format.RecorderCost) bool {
	return c.UserNs == 0 && c.SystemNs == 0 && c.PeakRss == 0
}

func costReport(c *format.RecorderCost) *CostReport {
	if c == nil || isCostUnknown(c) {
		return nil
	}
	return &CostReport{
		UserNs: c.UserNs, SystemNs: c.SystemNs, PeakMemoryBytes: c.PeakRss, RingBytes: c.RingBytes, SpoolBytes: c.SpoolBytes,
		FramesByTable: c.FramesByTable, FramesByPointer: c.FramesByPointer,
		Programs: converted(c.Programs, func(p *format.ProgramCost) ProgramReport {
			return ProgramReport{p.Name, p.Runs, p.Ns, p.RecursionMisses}
		}),
	}
}

// orNull is null for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

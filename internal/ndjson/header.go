package ndjson

import (
	"fmt"
	"time"

	"github.com/goccy/go-json"

	"wprof/internal/printable"
	"wprof/internal/records"
)

// header is the first line. The tags are the only list of its fields; doc is for the schema.
type header struct {
	Version    string            `json:"version" doc:"version of this schema: a new field or kind raises the second number, any other change the first"`
	Timestamp  string            `json:"timestamp" doc:"when the window opened, to the second: RFC 3339, UTC; empty if not known"`
	Dur        *instant          `json:"dur" doc:"length of the window, or of the selected time range; of several recordings from the first opening to the last closing; null when that is not known, or, with --stream, not yet"`
	TimerHz    int64             `json:"timer_freq_hz" doc:"timer samples per second and CPU; 0: none were taken; of several recordings that of the first that took some"`
	Sched      bool              `json:"capture_sched" doc:"whether switches were recorded"`
	Wakeup     bool              `json:"capture_wakeup" doc:"whether wakeups were recorded"`
	TaskLife   bool              `json:"capture_task_life" doc:"whether forks, execs, renames and exits were recorded"`
	IPIs       bool              `json:"capture_ipis" doc:"whether interrupts between CPUs were recorded"`
	Requests   bool              `json:"capture_requests" doc:"whether requests were recorded"`
	Scx        bool              `json:"capture_scx" doc:"whether sched_ext events were recorded"`
	CUDA       bool              `json:"capture_cuda" doc:"whether CUDA activity was recorded"`
	PyStacks   bool              `json:"capture_pystacks" doc:"whether Python stacks were taken"`
	PyTrace    bool              `json:"capture_pytrace" doc:"whether Python calls were recorded"`
	PyTorch    bool              `json:"capture_pytorch" doc:"whether PyTorch operators were recorded"`
	Utrace     bool              `json:"capture_utrace" doc:"whether user-defined probes were recorded"`
	Stacks     []string          `json:"stacks" doc:"kinds of stacks that were taken: timer (samples), offcpu, waker"`
	StackCount *int64            `json:"stack_cnt" doc:"number of stack lines; null with --stream, which writes them among the events"`
	PMUs       []string          `json:"pmus" doc:"names of the counters, and metrics of them, in the pmus of events, in the same order (wprof-record --pmu)"`
	Metadata   map[string]string `json:"metadata,omitempty" doc:"notes of wprof-record -M"`
	Extras     []string          `json:"extras,omitempty" doc:"command lines of the recorder and of the filters"`
	Host       string            `json:"host" doc:"name of the machine"`
	BootID     string            `json:"boot_id" doc:"its boot, as in /proc/sys/kernel/random/boot_id"`
	Release    string            `json:"kernel_release" doc:"release of its kernel, as uname -r shows it"`
	Machine    string            `json:"arch" doc:"its architecture, as uname -m shows it"`
	UUID       string            `json:"uuid" doc:"identifies the recording: the same in all files made of it; of several recordings that of the first"`
	StartTime  string            `json:"start_time" doc:"when the window opened: RFC 3339, UTC, nanoseconds; empty if not known"`
	Prepare    string            `json:"prepare,omitempty" doc:"when the recording was to be prepared: wprof-record --prepare, as it was typed; of several recordings that of the first, as in the next two"`
	Activate   string            `json:"activate,omitempty" doc:"when the window was to open: wprof-record --activate, as it was typed"`
	Requested  string            `json:"requested_time,omitempty" doc:"the instant that this was: RFC 3339, UTC, nanoseconds; start_time is when the window opened"`
	Start      *instant          `json:"start_ts" doc:"start of the output: 0, or the start of the range given by --start; the output covers start_ts to start_ts + dur"`
	Lost       *uint64           `json:"lost" doc:"number of events that the recorder lost in the whole recording; null with --stream, and if the capture is damaged"`
	TimeUnit   string            `json:"time_unit" doc:"unit of all times and durations: s, or ns with --time ns"`
}

// instant is a time in the requested unit.
type instant struct {
	l  *layout
	ns int64
}

// MarshalJSON implements [json.Marshaler].
func (i *instant) MarshalJSON() ([]byte, error) { return i.l.appendTime(nil, i.ns), nil }

// newHeader fills in what the session contains.
func newHeader(about *records.Session, window records.Window, o *Options, l *layout) header {
	h := header{
		Version: records.Version, TimerHz: about.TimerHz, Stacks: []string{}, PMUs: []string{}, Metadata: about.Metadata,
		Extras: about.Extras, Host: about.Host, BootID: about.BootID, Release: about.Release, Machine: about.Machine, UUID: about.UUID,
		Sched: about.Recorded("sched"), Wakeup: about.Recorded("wakeup"), TaskLife: about.Recorded("task-life"), Utrace: about.Probes, PyStacks: about.PyStacks, PyTrace: about.PyTrace, Start: &instant{l, window.Start}, TimeUnit: "s",
	}
	if window.Closed {
		h.Dur = &instant{l, window.Length()}
	}
	h.PMUs = append(h.PMUs, about.PMUs...)
	if !o.NoStacks {
		h.Stacks = append(h.Stacks, about.Stacks...)
	}
	if o.Nanoseconds {
		h.TimeUnit = "ns"
	}
	if !about.Opened.IsZero() {
		h.Timestamp, h.StartTime = about.Opened.Format(time.RFC3339), about.Opened.Format(records.Nanoseconds)
	}
	h.Prepare, h.Activate = about.Prepare, about.Activate
	if !about.Requested.IsZero() {
		h.Requested = about.Requested.Format(records.Nanoseconds)
	}
	return h
}

// line is a value as the schema writes it, compact and readable.
func (l *layout) line(b []byte, before string, value any) ([]byte, error) {
	text, err := json.MarshalWithOption(value, json.DisableHTMLEscape())
	if err != nil {
		return nil, fmt.Errorf("encode a line: %w", err)
	}
	return append(append(append(b, before...), printable.JSON(text)...), l.end...), nil
}

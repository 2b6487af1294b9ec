package columns

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"wprof/internal/records"
)

// sessionRow is the row of session.parquet.
type sessionRow struct {
	records.Session
	stackCount int64
	window     records.Window
	lost       int64
	isWhole    bool // lost is complete
}

// sessionFields returns the columns of the session, which are the fields of the JSON header.
func sessionFields() []field[sessionRow] {
	fields := []field[sessionRow]{
		text("version", func(*sessionRow) string { return records.Version }),
		text("timestamp", func(r *sessionRow) string { return r.opened(time.RFC3339) }),
		optionalInteger("dur", func(r *sessionRow) (int64, bool) {
			return r.window.Length(), r.window.Closed
		}),
		integer("timer_freq_hz", func(r *sessionRow) int64 { return r.TimerHz }),
	}
	for _, group := range []string{"sched", "wakeup", "task-life"} {
		fields = append(fields, flag("capture_"+strings.ReplaceAll(group, "-", "_"), func(r *sessionRow) bool { return r.Recorded(group) }))
	}
	never := func(*sessionRow) bool { return false }
	for _, source := range []string{"ipis", "requests", "scx", "cuda"} {
		fields = append(fields, flag("capture_"+source, never))
	}
	return append(fields,
		flag("capture_pystacks", func(r *sessionRow) bool { return r.PyStacks }),
		flag("capture_pytrace", func(r *sessionRow) bool { return r.PyTrace }),
		flag("capture_pytorch", never),
		flag("capture_utrace", func(r *sessionRow) bool { return r.Probes }),
		texts("stacks", func(r *sessionRow) []string { return r.Stacks }),
		integer("stack_cnt", func(r *sessionRow) int64 { return r.stackCount }),
		texts("pmus", func(r *sessionRow) []string { return r.PMUs }),
		metadata(),
		texts("extras", func(r *sessionRow) []string { return r.Extras }),
		text("host", func(r *sessionRow) string { return r.Host }),
		text("boot_id", func(r *sessionRow) string { return r.BootID }),
		text("kernel_release", func(r *sessionRow) string { return r.Release }),
		text("arch", func(r *sessionRow) string { return r.Machine }),
		text("uuid", func(r *sessionRow) string { return r.UUID }),
		text("start_time", func(r *sessionRow) string { return r.opened(records.Nanoseconds) }),
		optionalText("prepare", func(r *sessionRow) (string, bool) { return r.Prepare, r.Prepare != "" }),
		optionalText("activate", func(r *sessionRow) (string, bool) { return r.Activate, r.Activate != "" }),
		optionalText("requested_time", func(r *sessionRow) (string, bool) {
			return r.Requested.Format(records.Nanoseconds), !r.Requested.IsZero()
		}),
		integer("start_ts", func(r *sessionRow) int64 { return r.window.Start }),
		optionalInteger("lost", func(r *sessionRow) (int64, bool) { return r.lost, r.isWhole }),
		text("time_unit", func(*sessionRow) string { return "ns" }),
	)
}

// opened returns when the first window opened; "": not known.
func (r *sessionRow) opened(layout string) string {
	if r.Opened.IsZero() {
		return ""
	}
	return r.Opened.Format(layout)
}

// metadata is a column of maps.
func metadata() field[sessionRow] {
	keys := func(r *sessionRow) []string { return slices.Sorted(maps.Keys(r.Metadata)) }
	values := func(r *sessionRow) (all []string) {
		for _, key := range keys(r) {
			all = append(all, r.Metadata[key])
		}
		return all
	}
	return field[sessionRow]{
		name: "metadata", node: parquet.Map(textNode(), textNode()),
		leaves: []leaf[sessionRow]{singleLeaf(list(keys, (*column).text)), singleLeaf(list(values, (*column).text))},
	}
}

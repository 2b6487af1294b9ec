package filter

import (
	"time"

	"wprof/format"
	"wprof/internal/around"
	"wprof/internal/timeline"
)

// Options select what to keep and how to write it.
type Options struct {
	Threads    Spec
	CPUs       *CPUSet // nil: all
	Kinds      KindSet
	Start, End Bound
	Conditions []around.Condition // of --around
	Before     time.Duration      // what is kept before and after what meets one
	After      time.Duration
	Around     *around.Plan // of the input: only these stretches of it, which are within the range; nil: the range
	start, end string       // the flags of these, for messages; "": --start and --end
	Command    string       // for the session's history, as it could be typed again
	Version    string       // of the tool, for the session
	Level      int          // compression, see format.WriterOptions
	// Frame may give a frame another definition under the same id; nil: all stay. The module is nil if the frame has
	// none. Without room, which lines take much of, it may get a name, but no lines.
	Frame func(f *format.Frame, m *format.Module, room bool) *format.Frame
	// Stack may give a stack another definition under the same id once its frames have theirs; nil: all stay. The outermost frame
	// is as it was read; its module is nil if it has none.
	Stack func(s *format.Stack, outermost *format.Frame, m *format.Module) *format.Stack
}

// Result is the outcome of a filter.
type Result struct {
	Kept           uint64         // events written, without losses
	Read           uint64         // events of the time range, without losses
	Missed         Miss           // how the time range misses the window, if it does
	DroppedThreads int64          // see [timeline.Timeline]
	Unrelated      int64          // processes whose ancestors were dropped
	NotFound       bool           // nothing meets the conditions of --around
	Lost           bool           // events are missing from what was kept, as far as known
	Damage         *format.Damage // nil if the input was whole
}

// Miss is how a time range misses the window of a capture.
type Miss uint8

const (
	MissNone  Miss = iota
	MissLate       // it begins when the window has closed
	MissEarly      // it ends before the window opens
)

// note records in a session what the options leave out of the stream.
func (o *Options) note(s *format.Session) {
	s.History = append(s.History, o.Command)
	s.Version = o.Version
	if o.CPUs != nil {
		s.Config = append(s.Config, &format.KeyValue{Key: timeline.ConfigCPUs, Value: o.CPUs.String()})
	}
	if dropped := o.Kinds.Dropped(); dropped != "" {
		s.Config = append(s.Config, &format.KeyValue{Key: timeline.ConfigNoKinds, Value: dropped})
	}
}

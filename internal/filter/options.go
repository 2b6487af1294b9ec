package filter

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Options say what to keep and how to write it.
type Options struct {
	Threads    Spec
	CPUs       *CPUSet // nil: all
	Kinds      KindSet
	Start, End Bound
	Command    string // for the session's history, as it could be typed again
	Version    string // of the tool, for the session
	Level      int    // compression, see format.WriterOptions
}

// Result is what happened.
type Result struct {
	Kept   uint64         // events written, without losses
	Lost   bool           // events are missing, as far as what was kept tells
	Damage *format.Damage // nil if the input was whole
}

// note writes into a session what the options leave out of the stream, for whoever reads it.
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

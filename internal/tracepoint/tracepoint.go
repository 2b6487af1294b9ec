package tracepoint

import (
	"wprof/format"
	"wprof/internal/sources"
)

// Tracepoint is a tracepoint as an event type.
type Tracepoint struct {
	Group, Name string
	ID          int    // of the kernel's event, for perf_event_open(2); 0: of a raw tracepoint
	Print       string // how the kernel prints an event, as C; "": not known
	Layout
	Copy
}

// RawGroup is the group of raw tracepoints, whose events have the arguments that the kernel passes.
const RawGroup = "raw"

// IsRaw reports whether it is a raw tracepoint.
func (t *Tracepoint) IsRaw() bool { return t.ID == 0 }

// FullName is GROUP:NAME.
func (t *Tracepoint) FullName() string { return t.Group + ":" + t.Name }

// Layout is what decoding an event needs.
type Layout struct {
	Def    *format.EventType // without the id
	Places []Place           // of its fields
	Base   int               // bytes of the kernel's record before the copy
}

// Place is where a field is in a copy of a record.
type Place struct {
	Offset int
	Size   int  // bytes: of a number, of each in a list, of a fixed string or of fixed bytes
	Count  int  // of numbers in a list of fixed length
	Signed bool // of a number
	Kind   PlaceKind
}

// PlaceKind is how a field is found from its place.
type PlaceKind uint8

const (
	Fixed   PlaceKind = iota // it is there
	DataLoc                  // there is its location: the offset in the record, and in the upper half its length
	RelLoc                   // the same, with the offset from the end of the location
)

// Copy is what the kernel program copies of a record.
type Copy struct {
	From     int   // first byte
	To       int   // end of the fields of fixed length
	Location int   // place of the location of the last field of variable length; 0: there is none
	Relative bool  // that is a [RelLoc]
	Strings  []int // of a raw tracepoint: arguments, from 0, that point to strings
}

// These bounds are those of the kernel program: bpf/tracepoint.h.
const (
	MaxRecord    = 5120 // bytes that are copied
	MaxFixed     = 1024 // bytes of the fields of fixed length
	MaxRawString = 128
	MaxStrings   = 4
)

// newType returns the event type of a tracepoint, without fields.
func newType(group, name string) *format.EventType {
	return &format.EventType{
		Name: []byte(group + ":" + name), Group: []byte(Feature), Shape: uint32(format.TypeShape_SHAPE_INSTANT),
		On: uint32(format.TypeTrack_TRACK_THREAD), Track: []byte("Tracepoints"), Colour: []byte(group),
	}
}

// Feature is the word of -f.
const Feature = sources.Tracepoints

package tracks

import (
	"cmp"
	"crypto/sha256"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/sources"
)

// drawnType is an event type as it is drawn.
type drawnType struct {
	def                 *format.EventType
	on                  format.TypeTrack
	shape               format.TypeShape
	name, track, colour string
	counters            string            // what the names of its counters begin with
	args                []string          // names of arguments, by field
	stack               int               // the field that is the item's stack; -1: none
	perTrack            int               // the field of whose values each has its track; -1: none
	tracks              map[string]string // their names, by value; at most maxTracks
	begins              identity          // of a begin and of an end: the begin's
	isByCPU             bool              // of a begin and of an end: the begin is on a CPU's track, where spans may have no thread
	hasBegin            bool              // of an end: its begin is defined
	interrupts          bool              // its spans interrupt their threads
	own                 int               // the field of those that do not; -1: none
	beganBy             int               // the field with the thread in which a span began; -1: none
	counting            int               // the field with counts of the session's counters; -1: none
	isCounted           bool              // its events stand for many
	counts              format.CountFields
	nests               bool         // its spans are calls of one thread within each other
	torch               *torchFields // of operators of PyTorch; nil: it has others
	isEntry             bool         // its events are not drawn, because the spans of which they are the entries are
}

// identity identifies an event type in all sections: by its definition without the id.
type identity [16]byte

// atEnd is what the names of an end's arguments end with if the begin has arguments with the same names. No field's name has it.
const atEnd = " (end)"

// types holds the event types of a section.
type types struct {
	defs       Definitions
	known      byid.Table[*drawnType]
	memory     int // of known, in bytes
	identities map[uint32]identity
}

// maxTypes bounds the memory of the types that are kept, except for the latest one, in bytes. One that is needed again is made again.
const maxTypes = 16 << 20

func newTypes(defs Definitions) types {
	return types{defs: defs, identities: make(map[uint32]identity)}
}

func (t *types) clear() {
	t.known.Clear()
	t.memory = 0
	clear(t.identities)
}

// of returns the type with an id; nil: it is not defined.
func (t *types) of(id uint32) *drawnType {
	if known := t.known.Get(id); known != nil || id == 0 {
		return known
	}
	def := t.defs.EventType(id)
	if def.IsLost() {
		return nil
	}
	d := newDrawnType(def)
	switch d.shape {
	case format.TypeShape_SHAPE_BEGIN:
		d.begins = t.identity(id, def)
	case format.TypeShape_SHAPE_END:
		if begin := t.defs.EventType(def.Ends); !begin.IsLost() {
			of := newDrawnType(begin)
			d.hasBegin, d.begins, d.isByCPU = true, t.identity(def.Ends, begin), of.isByCPU
			d.nameArgs(of)
		}
	}
	m := def.Memory()
	if t.memory += m; t.memory > maxTypes {
		t.memory = m
		t.known.Clear()
	}
	t.known.Put(id, d)
	return d
}

// identity returns the identity of a type. Each is computed once, because a definition may be long.
func (t *types) identity(id uint32, def *format.EventType) identity {
	known, found := t.identities[id]
	if !found {
		content := &format.EventType{Name: def.Name, Group: def.Group, Shape: def.Shape, On: def.On, Track: def.Track, Colour: def.Colour, Fields: def.Fields, Interrupts: def.Interrupts,
			Label: def.Label, Probe: def.Probe, Definition: def.Definition, Entry: def.Entry}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
		if err != nil { // no definition that was read has this
			b = def.Name
		}
		sum := sha256.Sum256(b)
		known = identity(sum[:])
		t.identities[id] = known
	}
	return known
}

func newDrawnType(def *format.EventType) *drawnType {
	d := &drawnType{
		def: def, on: format.TypeTrack(def.On), shape: format.TypeShape(def.Shape), name: string(def.Name), track: string(def.Track), colour: string(def.Colour),
		stack: -1, perTrack: -1, interrupts: def.IsInterrupt(), own: -1, beganBy: -1,
		nests: string(def.Group) == sources.PythonCalls || string(def.Group) == sources.Torch, torch: newTorchFields(def), isEntry: def.Entry, counting: def.CountersField(),
	}
	if def.On > uint32(format.TypeTrack_TRACK_GLOBAL) {
		d.on = format.TypeTrack_TRACK_THREAD
	}
	if d.track == "" {
		d.track = string(def.Probe)
	}
	d.isByCPU = d.on == format.TypeTrack_TRACK_CPU
	// Counters of different types are different ones, unless the types name their track.
	switch {
	case d.track != "":
		d.counters = d.track + " "
	case len(def.Group) > 0:
		d.counters = string(def.Group) + ":" + d.name + " "
	default:
		d.counters = d.name + " "
	}
	for n, f := range def.Fields {
		if d.stack < 0 && f.Is(format.ValueType_VALUE_STACK) && !f.List {
			d.stack = n
		}
		switch format.ValueHint(f.Hint) {
		case format.ValueHint_HINT_OWN:
			d.own = n
		case format.ValueHint_HINT_BEGAN_BY:
			d.beganBy = n
		}
		if d.perTrack < 0 && format.ValueHint(f.Hint) == format.ValueHint_HINT_TRACK {
			d.perTrack = n
		}
	}
	d.counts, d.isCounted = def.Counts()
	d.nameArgs(nil)
	return d
}

// nameArgs gives arguments names that differ from each other and, for an end, from those of its begin, which may be nil.
func (d *drawnType) nameArgs(begin *drawnType) {
	taken, ofBegin := make(map[string]bool), make(map[string]bool)
	taken[stackName] = d.stack >= 0 || begin != nil && begin.stack >= 0
	taken[threadName] = d.on == format.TypeTrack_TRACK_GLOBAL || d.beganBy >= 0
	taken[stackName+atEnd] = d.stack >= 0 && begin != nil
	if begin != nil {
		for _, name := range begin.args {
			ofBegin[name] = true
		}
	}
	d.args = make([]string, len(d.def.Fields))
	for n, f := range d.def.Fields {
		if n == d.stack {
			continue
		}
		name := argName(f)
		if ofBegin[name] {
			name += atEnd
		}
		for taken[name] || ofBegin[name] {
			name += "_"
		}
		taken[name] = true
		d.args[n] = name
	}
}

// argName returns the name of a field's values, with their unit where the field's type is one of time.
func argName(f *format.TypeField) string {
	name := string(f.Name)
	switch {
	case f.Is(format.ValueType_VALUE_DURATION):
		return name + "_ns"
	case f.Is(format.ValueType_VALUE_TIME):
		return name + "_before_ns"
	}
	return name
}

// maxTracks bounds the names of tracks that a type keeps.
const maxTracks = 256

// trackOf returns the name of the track of a value.
func (d *drawnType) trackOf(value string) string {
	if known, found := d.tracks[value]; found {
		return known
	}
	name := cmp.Or(d.track, d.name) + " " + value
	if d.tracks == nil {
		d.tracks = make(map[string]string)
	}
	if len(d.tracks) < maxTracks {
		d.tracks[value] = name
	}
	return name
}

package textform

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// The flags that every kind has. The visibility bits are written when they are cleared.
const (
	wordOpen      = "open"
	wordNoSubject = "!subject"
	wordNoObject  = "!object"
)

func (v *vocabulary) kindByName(name string) (format.KindInfo, error) {
	for _, info := range v.Kinds {
		if info.Name == name {
			return info, nil
		}
	}
	if number, ok := strings.CutPrefix(name, "kind"); ok {
		if n, err := strconv.ParseUint(number, 10, 8); err == nil {
			return v.KindInfo(format.Kind(n)), nil
		}
	}
	valid := make([]string, 0, len(v.Kinds))
	for _, info := range v.Kinds {
		valid = append(valid, info.Name)
	}
	return format.KindInfo{}, spell.Unknown("event kind", name, valid)
}

// visible are the visibility bits that an event of the kind has unless a filter cleared them.
func visible(k *format.KindInfo) format.Flags {
	if k.Object == "" {
		return format.FlagSubject
	}
	return format.FlagsVisible
}

// hasTask reports whether events of the kind have a task of their own. Unknown kinds may.
func hasTask(k *format.KindInfo) bool { return k.Task != "none" }

// announced are the flags that announce fields.
func announced(k *format.KindInfo) format.Flags {
	var all format.Flags
	for _, f := range k.Fields {
		all |= f.Opt
	}
	return all
}

// appendEvent writes TIME CPU KIND TASK FIELD=VALUE... FLAG...
func (v *vocabulary) appendEvent(b []byte, e *raw.Event) []byte {
	info := v.KindInfo(e.Kind)
	b = spell.AppendTime(b, e.Time, v.Open)
	b = append(append(b, ' '), format.CPUName(e.CPU)...)
	b = append(append(b, ' '), info.Name...)
	if hasTask(&info) || e.Task != 0 {
		b = strconv.AppendUint(append(b, ' '), uint64(e.Task), 10)
	}
	if e.Flags&format.FlagLate != 0 {
		b = spell.AppendTime(append(b, " own="...), e.Own, v.Open)
	}
	for i, f := range info.Fields {
		if f.Type == format.FieldBytes {
			typed, ok := v.appendTyped(b, &e.Event)
			// Without the type, no bytes are the default.
			if b = typed; ok || e.Kind == format.KindTyped && len(e.Data) == 0 && v.types.Of(&e.Event) == nil {
				continue
			}
		}
		if f.Opt == 0 || e.Flags&f.Opt != 0 {
			b = append(append(append(b, ' '), f.Name...), '=')
			b = v.AppendArg(b, f.Type, e.Args[i], e.Data)
		}
	}
	return v.appendMore(v.appendFlags(b, &info, e.Flags), e)
}

func (v *vocabulary) appendFlags(b []byte, info *format.KindInfo, flags format.Flags) []byte {
	if flags&format.FlagOpen != 0 {
		b = append(b, " "+wordOpen...)
	}
	rest := flags &^ (format.FlagOpen | format.FlagLate | format.FlagsVisible | announced(info))
	for _, f := range info.Flags {
		if rest&f.Bit != 0 {
			b, rest = append(append(b, ' '), f.Name...), rest&^f.Bit
		}
	}
	rest |= flags & format.FlagsVisible &^ visible(info)
	if rest != 0 {
		b = fmt.Appendf(b, " flags=%#x", uint32(rest))
	}
	hidden := visible(info) &^ flags
	if hidden&format.FlagSubject != 0 {
		b = append(b, " "+wordNoSubject...)
	}
	if hidden&format.FlagObject != 0 {
		b = append(b, " "+wordNoObject...)
	}
	return b
}

func (v *vocabulary) appendMore(b []byte, e *raw.Event) []byte {
	for i, t := range e.MoreTimes {
		lead := " more_times="
		if i > 0 {
			lead = ","
		}
		b = spell.AppendTime(append(b, lead...), t, v.Open)
	}
	if len(e.More) > 0 {
		b = hex.AppendEncode(append(b, " more="...), e.More)
	}
	return b
}

// parseEvent reads what appendEvent writes, with every part that has a default left out.
func (v *vocabulary) parseEvent(words []word) (*raw.Event, error) {
	e := &raw.Event{}
	t, err := spell.ParseTime(words[0].key, v.Open)
	if err != nil {
		return nil, err
	}
	e.Time, e.CPU, words = t, format.AllCPUs, words[1:]
	cpu := len(words) > 0 && isCPU(words[0])
	if cpu {
		if e.CPU, err = spell.ParseCPU(words[0].key); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) == 0 || words[0].valued {
		return nil, fmt.Errorf("the event names no kind; write TIME CPU KIND TASK, then fields and flags")
	}
	info, err := v.kindByName(words[0].key)
	if err != nil {
		return nil, err
	}
	if !cpu && hasTask(&info) {
		return nil, fmt.Errorf("%s needs a CPU before the kind; write cpu0, or all", info.Name)
	}
	e.Kind, e.Flags, words = info.Kind, visible(&info), words[1:]
	if len(words) > 0 && !words[0].valued && words[0].key[0] >= '0' && words[0].key[0] <= '9' {
		id, err := spell.ParseUint(words[0].key, 32)
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		e.Task, words = format.TaskID(id), words[1:]
	}
	seen := map[string]bool{}
	var typed []word
	for _, w := range words {
		if seen[w.key] {
			return nil, fmt.Errorf("%s stands twice", spell.Clip(w.key))
		}
		seen[w.key] = true
		if w.key != "" && w.key[0] == '.' && w.valued {
			typed = append(typed, w)
			continue
		}
		if err := v.setEventWord(e, &info, w); err != nil {
			return nil, err
		}
	}
	if seen["values"] && len(typed) == 0 {
		return e, nil
	}
	return e, v.setTyped(e, typed)
}

func isCPU(w word) bool {
	return !w.valued && (w.key == "all" || strings.HasPrefix(w.key, "cpu") && len(w.key) > 3 && w.key[3] >= '0' && w.key[3] <= '9')
}

func (v *vocabulary) setEventWord(e *raw.Event, info *format.KindInfo, w word) error {
	for i, f := range info.Fields {
		if f.Name == w.key {
			return v.setArg(e, f, i, w)
		}
	}
	for _, f := range info.Flags {
		if f.Name == w.key {
			return setFlag(e, f.Bit, w)
		}
	}
	switch w.key {
	case wordOpen:
		return setFlag(e, format.FlagOpen, w)
	case wordNoSubject:
		e.Flags &^= format.FlagSubject
		return nil
	case wordNoObject:
		e.Flags &^= format.FlagObject
		return nil
	}
	if !w.valued {
		return spell.Unknown("flag or field of "+info.Name, w.key, eventWords(info))
	}
	return v.setCommonWord(e, info, w)
}

func setFlag(e *raw.Event, bit format.Flags, w word) error {
	on, err := parseBool(w)
	if on {
		e.Flags |= bit
	}
	return err
}

// setCommonWord takes what every kind may have: its own time, flags by number, what newer versions added.
func (v *vocabulary) setCommonWord(e *raw.Event, info *format.KindInfo, w word) (err error) {
	switch w.key {
	case "own":
		e.Flags |= format.FlagLate
		e.Own, err = spell.ParseTime(w.value, v.Open)
	case "flags":
		var bits uint64
		bits, err = spell.ParseUint(w.value, 32)
		e.Flags |= format.Flags(bits)
	case "more":
		e.More, err = spell.ParseHex(w.value)
	case "more_times":
		for part := range strings.SplitSeq(w.value, ",") {
			t, err := spell.ParseTime(part, v.Open)
			if err != nil {
				return fmt.Errorf("more_times: %w", err)
			}
			e.MoreTimes = append(e.MoreTimes, t)
		}
	default:
		return spell.Unknown("field of "+info.Name, w.key, eventWords(info))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.key, err)
	}
	return nil
}

// eventWords are all words that may follow an event of the kind.
func eventWords(info *format.KindInfo) []string {
	var words []string
	for _, f := range info.Fields {
		words = append(words, f.Name)
	}
	for _, f := range info.Flags {
		words = append(words, f.Name)
	}
	return append(words, wordOpen, wordNoSubject, wordNoObject, "own", "flags", "more", "more_times")
}

func (v *vocabulary) setArg(e *raw.Event, f format.Field, number int, w word) error {
	if !w.valued {
		return fmt.Errorf("%s has no value; write %s=VALUE", w.key, w.key)
	}
	e.Flags |= f.Opt
	if f.Type == format.FieldBytes {
		e.Data = []byte(w.value)
		return nil
	}
	value, err := v.parseArg(f.Type, w.value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	e.Args[number] = value
	return nil
}

func (v *vocabulary) parseArg(t format.FieldType, s string) (uint64, error) {
	switch t {
	case format.FieldSint:
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is no whole number", spell.Clip(s))
		}
		return uint64(n), nil
	case format.FieldTime:
		n, err := spell.ParseTime(s, v.Open)
		return uint64(n), err
	case format.FieldState:
		n, err := format.ParseState(s)
		return uint64(n), err
	case format.FieldCause:
		return v.Causes.Parse("cause of loss", s, 64)
	case format.FieldKind:
		return v.KindNames.Parse("event kind", s, 64)
	}
	return spell.ParseUint(s, 64)
}

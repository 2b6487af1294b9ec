package format

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// textEvent is an event with what a newer version may have added to its record.
type textEvent struct {
	Event
	more      []byte  // bytes after the known fields; all of an unknown kind's
	moreTimes []int64 // times after the known ones, absolute
}

// The flags that every kind has. The visibility bits are written when they are cleared.
const (
	textOpen      = "open"
	textNoSubject = "!subject"
	textNoObject  = "!object"
)

// kindInfo is the table's row, or one without fields for a kind that this version does not know.
func (v *textVocabulary) kindInfo(k Kind) KindInfo {
	for _, info := range v.kinds {
		if info.Kind == k {
			return info
		}
	}
	return KindInfo{Kind: k, Name: "kind" + strconv.Itoa(int(k))}
}

func (v *textVocabulary) kindByName(name string) (KindInfo, error) {
	for _, info := range v.kinds {
		if info.Name == name {
			return info, nil
		}
	}
	if number, ok := strings.CutPrefix(name, "kind"); ok {
		if n, err := strconv.ParseUint(number, 10, 8); err == nil {
			return v.kindInfo(Kind(n)), nil
		}
	}
	valid := make([]string, 0, len(v.kinds))
	for _, info := range v.kinds {
		valid = append(valid, info.Name)
	}
	return KindInfo{}, unknownName("event kind", name, valid)
}

// visible are the visibility bits that an event of the kind has unless a filter cleared them.
func (k *KindInfo) visible() Flags {
	if k.Object == "" {
		return FlagSubject
	}
	return FlagsVisible
}

// hasTask tells whether events of the kind have a task of their own. Unknown kinds may.
func (k *KindInfo) hasTask() bool { return k.Task != "none" }

// announced are the flags that announce fields.
func (k *KindInfo) announced() Flags {
	var all Flags
	for _, f := range k.Fields {
		all |= f.Opt
	}
	return all
}

// appendEvent writes TIME CPU KIND TASK FIELD=VALUE... FLAG...
func (v *textVocabulary) appendEvent(b []byte, e *textEvent) []byte {
	info := v.kindInfo(e.Kind)
	b = appendTextTime(b, e.Time, v.open)
	b = append(append(b, ' '), textCPU(e.CPU)...)
	b = append(append(b, ' '), info.Name...)
	if info.hasTask() || e.Task != 0 {
		b = strconv.AppendUint(append(b, ' '), uint64(e.Task), 10)
	}
	if e.Flags&FlagLate != 0 {
		b = appendTextTime(append(b, " own="...), e.Own, v.open)
	}
	for i, f := range info.Fields {
		if f.Type == FieldBytes {
			typed, ok := v.appendTyped(b, &e.Event)
			if b = typed; ok || e.Kind == KindTyped && len(e.Data) == 0 {
				continue
			}
		}
		if f.Opt == 0 || e.Flags&f.Opt != 0 {
			b = append(append(append(b, ' '), f.Name...), '=')
			b = v.appendArg(b, f.Type, e.Args[i], e.Data)
		}
	}
	return v.appendMore(v.appendFlags(b, &info, e.Flags), e)
}

func (v *textVocabulary) appendArg(b []byte, t FieldType, arg uint64, bytes []byte) []byte {
	switch t {
	case FieldSint:
		return strconv.AppendInt(b, int64(arg), 10)
	case FieldTime:
		return appendTextTime(b, int64(arg), v.open)
	case FieldState:
		if arg>>32 != 0 {
			return fmt.Appendf(b, "%#x", arg)
		}
		return append(b, textState(State(arg))...)
	case FieldCause:
		return append(b, v.causes.text(arg)...)
	case FieldKind:
		return append(b, v.kindNames.text(arg)...)
	case FieldBytes:
		return strconv.AppendQuote(b, string(bytes))
	}
	return strconv.AppendUint(b, arg, 10)
}

func (v *textVocabulary) appendFlags(b []byte, info *KindInfo, flags Flags) []byte {
	if flags&FlagOpen != 0 {
		b = append(b, " "+textOpen...)
	}
	rest := flags &^ (FlagOpen | FlagLate | FlagsVisible | info.announced())
	for _, f := range info.Flags {
		if rest&f.Bit != 0 {
			b, rest = append(append(b, ' '), f.Name...), rest&^f.Bit
		}
	}
	rest |= flags & FlagsVisible &^ info.visible()
	if rest != 0 {
		b = fmt.Appendf(b, " flags=%#x", uint32(rest))
	}
	hidden := info.visible() &^ flags
	if hidden&FlagSubject != 0 {
		b = append(b, " "+textNoSubject...)
	}
	if hidden&FlagObject != 0 {
		b = append(b, " "+textNoObject...)
	}
	return b
}

func (v *textVocabulary) appendMore(b []byte, e *textEvent) []byte {
	for i, t := range e.moreTimes {
		lead := " more_times="
		if i > 0 {
			lead = ","
		}
		b = appendTextTime(append(b, lead...), t, v.open)
	}
	if len(e.more) > 0 {
		b = hex.AppendEncode(append(b, " more="...), e.more)
	}
	return b
}

// parseEvent reads what appendEvent writes, with every part that has a default left out.
func (v *textVocabulary) parseEvent(words []textWord) (*textEvent, error) {
	e := &textEvent{}
	t, err := parseTextTime(words[0].key, v.open)
	if err != nil {
		return nil, err
	}
	e.Time, e.CPU, words = t, AllCPUs, words[1:]
	cpu := len(words) > 0 && isTextCPU(words[0])
	if cpu {
		if e.CPU, err = parseTextCPU(words[0].key); err != nil {
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
	if !cpu && info.hasTask() {
		return nil, fmt.Errorf("%s needs a CPU before the kind; write cpu0, or all", info.Name)
	}
	e.Kind, e.Flags, words = info.Kind, info.visible(), words[1:]
	if len(words) > 0 && !words[0].valued && words[0].key[0] >= '0' && words[0].key[0] <= '9' {
		id, err := parseTextUint(words[0].key, 32)
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		e.Task, words = TaskID(id), words[1:]
	}
	seen := map[string]bool{}
	var typed []textWord
	for _, w := range words {
		if seen[w.key] {
			return nil, fmt.Errorf("%s stands twice", clip(w.key))
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
	return e, v.setTyped(e, typed)
}

func isTextCPU(w textWord) bool {
	return !w.valued && (w.key == "all" || strings.HasPrefix(w.key, "cpu") && len(w.key) > 3 && w.key[3] >= '0' && w.key[3] <= '9')
}

func (v *textVocabulary) setEventWord(e *textEvent, info *KindInfo, w textWord) error {
	for i, f := range info.Fields {
		if f.Name == w.key {
			return v.setArg(e, f, i, w)
		}
	}
	for _, f := range info.Flags {
		if f.Name == w.key {
			return setTextFlag(e, f.Bit, w)
		}
	}
	switch w.key {
	case textOpen:
		return setTextFlag(e, FlagOpen, w)
	case textNoSubject:
		e.Flags &^= FlagSubject
		return nil
	case textNoObject:
		e.Flags &^= FlagObject
		return nil
	}
	if !w.valued {
		return unknownName("flag or field of "+info.Name, w.key, eventWords(info))
	}
	return v.setCommonWord(e, info, w)
}

func setTextFlag(e *textEvent, bit Flags, w textWord) error {
	on, err := parseTextBool(w)
	if on {
		e.Flags |= bit
	}
	return err
}

// setCommonWord takes what every kind may have: its own time, flags by number, what newer versions added.
func (v *textVocabulary) setCommonWord(e *textEvent, info *KindInfo, w textWord) (err error) {
	switch w.key {
	case "own":
		e.Flags |= FlagLate
		e.Own, err = parseTextTime(w.value, v.open)
	case "flags":
		var bits uint64
		bits, err = parseTextUint(w.value, 32)
		e.Flags |= Flags(bits)
	case "more":
		e.more, err = parseTextHex(w.value)
	case "more_times":
		for part := range strings.SplitSeq(w.value, ",") {
			t, err := parseTextTime(part, v.open)
			if err != nil {
				return fmt.Errorf("more_times: %w", err)
			}
			e.moreTimes = append(e.moreTimes, t)
		}
	default:
		return unknownName("field of "+info.Name, w.key, eventWords(info))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.key, err)
	}
	return nil
}

// eventWords are all words that may follow an event of the kind.
func eventWords(info *KindInfo) []string {
	var words []string
	for _, f := range info.Fields {
		words = append(words, f.Name)
	}
	for _, f := range info.Flags {
		words = append(words, f.Name)
	}
	return append(words, textOpen, textNoSubject, textNoObject, "own", "flags", "more", "more_times")
}

func (v *textVocabulary) setArg(e *textEvent, f Field, number int, w textWord) error {
	if !w.valued {
		return fmt.Errorf("%s has no value; write %s=VALUE", w.key, w.key)
	}
	e.Flags |= f.Opt
	if f.Type == FieldBytes {
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

func (v *textVocabulary) parseArg(t FieldType, s string) (uint64, error) {
	switch t {
	case FieldSint:
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is no whole number", clip(s))
		}
		return uint64(n), nil
	case FieldTime:
		n, err := parseTextTime(s, v.open)
		return uint64(n), err
	case FieldState:
		n, err := parseTextState(s)
		return uint64(n), err
	case FieldCause:
		return v.causes.parse("cause of loss", s, 64)
	case FieldKind:
		return v.kindNames.parse("event kind", s, 64)
	}
	return parseTextUint(s, 64)
}

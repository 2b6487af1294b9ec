package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A time in the text form is absolute without a sign (5, 5ns, 1.5s) and counts from the opening of the section's
// window with one (+1000, -0.000001000, +1ms). Without a unit it is seconds where it has a point, else nanoseconds.
// Dump writes seconds with nine digits from the opening.

// appendTextTime writes a time; one too far from the opening to be counted from there is absolute, in hexadecimal.
func appendTextTime(b []byte, t, open int64) []byte {
	d := t - open
	if (t >= open) != (d >= 0) || d == math.MinInt64 {
		return fmt.Appendf(b, "0x%x", uint64(t))
	}
	sign := byte('+')
	if d < 0 {
		sign, d = '-', -d
	}
	return fmt.Appendf(append(b, sign), "%d.%09d", d/1e9, d%1e9)
}

func parseTextTime(s string, open int64) (int64, error) {
	if after, ok := strings.CutPrefix(s, "0x"); ok {
		v, err := strconv.ParseUint(after, 16, 64)
		if err != nil {
			return 0, badTextTime(s)
		}
		return int64(v), nil
	}
	digits, sign := s, int64(0)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		digits, sign = s[1:], 1
		if s[0] == '-' {
			sign = -1
		}
	}
	ns, ok := parseTextDuration(digits)
	if !ok {
		return 0, badTextTime(s)
	}
	if sign == 0 {
		return ns, nil
	}
	t := open + sign*ns
	if (t > open) != (sign*ns > 0) && ns != 0 {
		return 0, fmt.Errorf("the time %s lies beyond what 64 bits hold", clip(s))
	}
	return t, nil
}

func badTextTime(s string) error {
	return fmt.Errorf("%s is no time; write 1500 or 1.5us for an absolute one, +1500 or +0.000001500 for one from the opening", clip(s))
}

// parseTextDuration reads digits with an optional fraction and unit, exactly: what is finer than 1 ns is refused.
func parseTextDuration(s string) (int64, bool) {
	number := strings.TrimRight(s, "nums")
	unit, ok := map[string]int{"ns": 0, "us": 3, "ms": 6, "s": 9, "": 0}[s[len(number):]]
	whole, fraction, point := strings.Cut(number, ".")
	if point && len(number) == len(s) {
		unit = 9
	}
	if !ok || whole == "" || point && fraction == "" || len(fraction) > unit {
		return 0, false
	}
	all := whole + fraction + strings.Repeat("0", unit-len(fraction))
	if strings.ContainsAny(all, "+-_") {
		return 0, false
	}
	v, err := strconv.ParseInt(all, 10, 64)
	return v, err == nil
}

// textState is a state in letters where they tell it fully (S, DK, R+), else a number.
func textState(s State) string {
	text := s.String()
	if back, err := parseTextState(text); err != nil || back != s {
		return fmt.Sprintf("%#x", uint64(s))
	}
	return text
}

func parseTextState(text string) (State, error) {
	if v, err := strconv.ParseUint(text, 0, 32); err == nil {
		return State(v), nil
	}
	var s State
	for i := range len(text) {
		bit, ok := stateLetter(text[i])
		if !ok {
			return 0, fmt.Errorf("%s is no state; write letters such as S, D, DK, R+, t, or a number", clip(text))
		}
		s |= bit
	}
	if text == "" {
		return 0, errors.New("a state is missing; write letters such as S, D, DK, R+, t, or a number")
	}
	return s, nil
}

func stateLetter(c byte) (State, bool) {
	switch c {
	case 'R':
		return StateRunnable, true
	case 'K':
		return StateKillable, true
	case '+':
		return StatePreempted, true
	}
	for _, n := range stateNames() {
		if n.name == string(c) {
			return n.bit, true
		}
	}
	return 0, false
}

// textNames are the names of a small set of numbers.
type textNames map[uint64]string

func causeNames() textNames {
	names := textNames{}
	for _, c := range Causes() {
		names[uint64(c.Cause)] = c.Name
	}
	return names
}

func kindNames(kinds []KindInfo) textNames {
	names := textNames{0: "any"}
	for _, k := range kinds {
		names[uint64(k.Kind)] = k.Name
	}
	return names
}

func taskFlagNames() textNames {
	return textNames{
		uint64(TaskFlag_TASK_FLAG_KTHREAD): "kthread", uint64(TaskFlag_TASK_FLAG_IDLE): "idle",
		uint64(TaskFlag_TASK_FLAG_SELF): "self", uint64(TaskFlag_TASK_FLAG_UNKNOWN): "unknown",
	}
}

// enumNames are the names of numbers in messages, by field.
func enumNames() map[protoreflect.FullName]textNames {
	modules := textNames{}
	for _, k := range ModuleKinds() {
		modules[uint64(k.Kind)] = k.Name
	}
	return map[protoreflect.FullName]textNames{
		"wprof.Module.kind":    modules,
		"wprof.TypeField.type": namesOf(ValueType(0).Descriptor(), "VALUE_"), "wprof.TypeField.hint": namesOf(ValueHint(0).Descriptor(), "HINT_"),
		"wprof.EventType.shape": namesOf(TypeShape(0).Descriptor(), "SHAPE_"), "wprof.EventType.on": namesOf(TypeTrack(0).Descriptor(), "TRACK_"),
	}
}

// namesOf are the values of an enum, without what all begin with, in lower case.
func namesOf(enum protoreflect.EnumDescriptor, prefix string) textNames {
	names := textNames{}
	for i := range enum.Values().Len() {
		value := enum.Values().Get(i)
		names[uint64(value.Number())] = strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
	}
	return names
}

func (n textNames) text(v uint64) string {
	if name, ok := n[v]; ok {
		return name
	}
	return strconv.FormatUint(v, 10)
}

func (n textNames) parse(what, text string, bits int) (uint64, error) {
	for v, name := range n {
		if name == text {
			return v, nil
		}
	}
	if v, err := strconv.ParseUint(text, 0, bits); err == nil {
		return v, nil
	}
	return 0, unknownName(what, text, n.sorted())
}

// bits writes a set of flags: kthread,self; what has no name is a number.
func (n textNames) bits(v uint64) string {
	var parts []string
	for _, name := range n.sorted() {
		if bit, _ := n.parse("", name, 64); v&bit != 0 {
			parts, v = append(parts, name), v&^bit
		}
	}
	if v != 0 {
		parts = append(parts, fmt.Sprintf("%#x", v))
	}
	return strings.Join(parts, ",")
}

func (n textNames) parseBits(what, text string, bits int) (uint64, error) {
	var v uint64
	for part := range strings.SplitSeq(text, ",") {
		bit, err := n.parse(what, part, bits)
		if err != nil {
			return 0, err
		}
		v |= bit
	}
	return v, nil
}

// sorted are the names in the order of their numbers.
func (n textNames) sorted() []string {
	var numbers []uint64
	for v := range n {
		numbers = append(numbers, v)
	}
	slices.Sort(numbers)
	var names []string
	for _, v := range numbers {
		names = append(names, n[v])
	}
	return names
}

func textCPU(cpu uint32) string {
	if cpu == AllCPUs {
		return "all"
	}
	return "cpu" + strconv.FormatUint(uint64(cpu), 10)
}

func parseTextCPU(text string) (uint32, error) {
	if text == "all" {
		return AllCPUs, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "cpu"), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s is no CPU; write cpu0, or all", clip(text))
	}
	return uint32(v), nil
}

func parseTextHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a row of pairs of hexadecimal digits", clip(text))
	}
	return b, nil
}

package probe

import (
	"slices"
	"strings"
)

// WordInfo is a row of a table of words, for messages, help and completion.
type WordInfo struct {
	Word string // with the colon or the parenthesis that belongs to it
	Form string // with its value
	Doc  string
}

// ParameterWords returns what may stand in the parentheses after a target.
func ParameterWords() []WordInfo {
	return []WordInfo{
		{"arg:", "arg:INDEX|NAME|ret|ctx|*", "an argument, with accessors, a type and modifiers"},
		{"stack", "stack", "the stack; also st and stacktrace"},
		{"pid:", "pid:N or pid:nv-smi", "only in this process, or in every process that uses a GPU; repeatable"},
		{"path:", "path:FILE", "the program or library with the function"},
		{"comm:", "comm:GLOB", "only in threads with such a name"},
	}
}

// SettingWords returns what may stand between the bars.
func SettingWords() []WordInfo {
	return []WordInfo{
		{"id:", "id:ID", "the probe's id; probes with the same id share a track"},
		{"name:", `name:"TEXT {ARG}"`, "the name of events"},
		{"sample:", "sample:N", "record one of N events"},
		{"limit:", "limit:RATE", "record at most so many events a second"},
		{"min:", "min:DURATION", "record only spans that are this long"},
		{"entry:", "entry:no", "record a span only when it ends"},
		{"if:", "if:ARG==VALUE&&…", "record only what meets the conditions, with ==, !=, <, <=, >, >=, & and ~"},
		{"key:", "key:ARG or key:(ARG, ARG)", "what the two ends of a span have in common, instead of the thread"},
		{"count", "count", "count events in the kernel"},
		{"sum:", "sum:ARG", "add an argument up in the kernel"},
		{"hist:", "hist:ARG or hist:dur", "count values of an argument, or durations, by powers of two in the kernel"},
		{"by:", "by:ARG,stack,comm,pid,tid,cpu", "what is counted separately"},
	}
}

// ThreadWords returns what is known at every probe, under these names where no argument has them.
func ThreadWords() []WordInfo {
	return []WordInfo{
		{"comm", "comm", "the thread's name"},
		{"pid", "pid", "the id of its process"},
		{"tid", "tid", "its own id"},
		{"cpu", "cpu", "the number of the CPU that it runs on"},
	}
}

// WatchWords returns what arguments of breakpoints are, beside the registers.
func WatchWords() []WordInfo {
	return []WordInfo{
		{"value", "value", "what is in the memory after the access"},
		{"before", "before", "what was in it at the hit before, or when the recording began"},
		{"ip", "ip", "the instruction pointer"},
	}
}

// ModifierWords returns what may stand after a / behind an argument.
func ModifierWords() []WordInfo {
	return []WordInfo{
		{"name", "/name(NAME)", "its name"},
		{"x", "/x", "in hexadecimal; also hex"},
		{"map", "/map(NUMBER=NAME,…)", "numbers by names"},
		{"enum", "/enum", "numbers by the names of the enumeration"},
		{"counter", "/counter or /counter(thread)", "drawn as a counter, of the process or of each thread"},
		{"hist", "/hist", "with a histogram"},
	}
}

func wordsOf(rows []WordInfo) []string {
	var words []string
	for _, row := range rows {
		words = append(words, row.Word)
	}
	return words
}

func stackWords() []string { return []string{"stack", "st", "stacktrace"} }

func probeWords() []string {
	var words []string
	for _, row := range Kinds() {
		words = append(words, row.Word+":")
	}
	return words
}

func typeWords() []string {
	var words []string
	for _, row := range Types() {
		words = append(words, row.Words...)
	}
	return words
}

// typeNamed returns the type with a name, TypeAuto if there is none.
func typeNamed(word string) Type {
	for _, row := range Types() {
		if slices.Contains(row.Words, word) {
			return row.Type
		}
	}
	return TypeAuto
}

// kindNamed returns the kind of probe with a word, 0 if there is none.
func kindNamed(word string) ProbeKind {
	for _, row := range Kinds() {
		if row.Word == word {
			return row.Kind
		}
	}
	return 0
}

// sameProbe returns the words for probes that other tools call by this one.
func sameProbe(word string) []string {
	return map[string][]string{
		"uprobe": {"u:"}, "uretprobe": {"uret:"}, "kprobe": {"k:"}, "kretprobe": {"kret:"}, "kfunc": {"k:"}, "kretfunc": {"kret:"},
		"fentry": {"k:", "bpf:"}, "fexit": {"kret:", "bpfret:"}, "tracepoint": {"tp:"}, "rawtracepoint": {"raw_tp:"},
		"raw_tracepoint": {"raw_tp:"}, "tp_btf": {"raw_tp:"}, "probe": {"u:"},
		"watchpoint": {"watch:"}, "asyncwatchpoint": {"watch:"}, "mem": {"watch:"}, "hw": {"watch:"},
	}[word]
}

// related returns those of u:, uret: and uspan:, or what they are of the same target, that have a property.
func (k ProbeKind) related(has func(KindInfo) bool) []string {
	stem := strings.TrimSuffix(strings.TrimSuffix(k.Info().Word, "ret"), "span")
	var words []string
	for _, row := range Kinds() {
		if slices.Contains([]string{stem, stem + "ret", stem + "span"}, row.Word) && has(row) {
			words = append(words, row.Word+":")
		}
	}
	return words
}

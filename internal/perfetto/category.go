package perfetto

// category is the number of a category. Filters in Perfetto and SQL (slice.category) select slices and instants by it. The names are
// those that the C program wprof gives to the same.
type category uint64

const (
	catRecording category = iota + 1 // losses, late events, times between windows, and the session
	catOnCPU
	catOffCPU
	catIdle
	catWaking
	catWakee
	catPreemptor
	catForking
	catForked
	catExec
	catRename
	catExit
	catTimer
	catStack
	catMark
	catPython
	catAwaiting
	catRuby
)

func categoryNames() []string {
	return []string{
		catRecording: "recording", catOnCPU: "ONCPU", catOffCPU: "OFFCPU", catIdle: "IDLE", catWaking: "WAKING", catWakee: "WAKEE",
		catPreemptor: "PREEMPTOR", catForking: "FORKING", catForked: "FORKED", catExec: "EXEC", catRename: "RENAME", catExit: "EXIT",
		catTimer: "TIMER", catStack: "STACK", catMark: "MARK", catPython: "PYTHON", catAwaiting: "AWAITING", catRuby: "RUBY",
	}
}

// category gives the event a category.
func (s *sequence) category(c category) { s.body = append(s.body, eventCategory<<3, byte(c)) }

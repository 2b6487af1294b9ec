package format

// StackEndInfo describes why the user part of a stack ends.
type StackEndInfo struct {
	End     StackEnd
	Name    string // in reports
	IsEarly bool   // before the function with which the thread began, though it is not deeper than what is taken
	Doc     string
}

// StackEnds is the number of values of [StackEnd].
const StackEnds = 7

// AllStackEnds is the table of reasons, in the order of their numbers.
func AllStackEnds() []StackEndInfo {
	return []StackEndInfo{
		{StackEnd_STACK_END_UNKNOWN, "unknown", false, "not recorded, or the stack has no user part"},
		{StackEnd_STACK_END_ROOT, "whole", false, "it reached the function with which its thread began"},
		{StackEnd_STACK_END_DEPTH, "too deep", false, "it is deeper than what is taken"},
		{StackEnd_STACK_END_NO_CODE, "no code", true, "the next return address is in no executable mapping"},
		{StackEnd_STACK_END_NO_FRAME, "no frame", true, "neither call frame information nor a frame pointer leads on"},
		{StackEnd_STACK_END_UNREADABLE, "unreadable", true, "the memory of the stack could not be read"},
		{StackEnd_STACK_END_NO_TABLE, "no table", true, "the file's unwind table was not loaded, and no frame pointer leads on"},
	}
}

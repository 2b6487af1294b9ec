package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// PythonCalls is the word of -f for calls of functions of Python.
const PythonCalls = "py-trace"

// PythonCall is the name of the events' type.
const PythonCall = "py_call"

// pythonType are spans of calls of functions of Python. No kernel program writes them: package pytrace reads them from the processes.
func pythonType() Type {
	text := func(name string) *format.TypeField { return Field(name, format.ValueType_VALUE_TEXT) }
	def := threadSpan(PythonCall, PythonCalls, "Python calls",
		name(text("function")), text("module"), text("file"), Field("line", format.ValueType_VALUE_UINT),
		Field("self", format.ValueType_VALUE_DURATION), Field("began_before", format.ValueType_VALUE_BOOL))
	def.Colour = nil // functions differ
	return Type{Number: ringdata.TypePython, Feature: PythonCalls, Doc: "calls of functions of Python in recorded processes, or in chosen ones: py-trace=[min:DURATION:][module:GLOB:][PID|NAME]", Def: def}
}

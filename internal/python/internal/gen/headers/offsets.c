/* Prints the offsets of internal/python's Layout as Go fields, of the headers that it is compiled with. */
#define Py_BUILD_CORE
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pystate.h>
#else
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif

#define FIELD(name, type, member) printf(" " name ": %zu,", offsetof(type, member))

int main(void)
{
	printf("{Minor: %d,", PY_MINOR_VERSION);
	FIELD("Interpreters", _PyRuntimeState, interpreters.head);
	FIELD("NextInterpreter", PyInterpreterState, next);
	FIELD("NextThread", PyThreadState, next);
	FIELD("ThreadID", PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
	FIELD("Threads", PyInterpreterState, tstate_head);
	FIELD("Frame", PyThreadState, frame);
	printf(" Ends: EndsAlways,");
	FIELD("Code", PyFrameObject, f_code);
	FIELD("Previous", PyFrameObject, f_back);
	FIELD("Instruction", PyFrameObject, f_lasti);
	FIELD("Qualname", PyCodeObject, co_name);
#else
	FIELD("Threads", PyInterpreterState, threads.head);
	FIELD("Frame", PyThreadState, cframe);
	FIELD("Current", _PyCFrame, current_frame);
	printf(" HasCurrent: true,");
	FIELD("Code", _PyInterpreterFrame, f_code);
	FIELD("Previous", _PyInterpreterFrame, previous);
	FIELD("Instruction", _PyInterpreterFrame, prev_instr);
#if PY_VERSION_HEX < 0x030c0000
	printf(" Ends: EndsAtEntry,");
	FIELD("Owner", _PyInterpreterFrame, is_entry);
#else
	printf(" Ends: EndsBeforeShim,");
	FIELD("Owner", _PyInterpreterFrame, owner);
#endif
	FIELD("Qualname", PyCodeObject, co_qualname);
	FIELD("Instructions", PyCodeObject, co_code_adaptive);
#endif
	FIELD("Filename", PyCodeObject, co_filename);
	FIELD("FirstLine", PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030a0000
	FIELD("Lines", PyCodeObject, co_lnotab);
#else
	FIELD("Lines", PyCodeObject, co_linetable);
#endif
	FIELD("TextLength", PyASCIIObject, length);
	/* Bit fields, of which the kind follows 2 bits; what is before them is a hash. */
	printf(" TextState: %zu, TextKind: 2,", offsetof(PyASCIIObject, hash) + sizeof(Py_hash_t));
	printf(" ASCII: %zu, Compact: %zu,", sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject));
	FIELD("BytesLength", PyVarObject, ob_size);
	FIELD("Bytes", PyBytesObject, ob_sval);
	printf(" GIL: GIL{");
#if PY_VERSION_HEX < 0x030c0000
	FIELD("At", _PyRuntimeState, ceval.gil);
#else
	FIELD("At", PyInterpreterState, ceval.gil);
	printf(" InInterpreter: true,");
#endif
	printf(" Bytes: %zu,", sizeof(struct _gil_runtime_state));
	FIELD("Locked", struct _gil_runtime_state, locked);
	FIELD("Holder", struct _gil_runtime_state, last_holder);
#if PY_VERSION_HEX >= 0x030b0000
	FIELD("NativeID", PyThreadState, native_thread_id);
#endif
	printf("}},\n");
	return 0;
}

package pytrace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The structures have the places that the C compiler gives them.
func TestSharedStructures(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	places := map[string]int{
		"SHARED_BYTES": sharedBytes, "DEFINITIONS_AT": definitionsAt, "DEFINITION_BYTES": definitionBytes, "THREADS_AT": threadsAt,
		"THREAD_BYTES": threadBytes, "MAX_THREADS": maxThreads, "MAX_DEPTH": maxDepth, "RECORDS": maxRecords, "TEXT_BYTES": textBytes,
		"MAX_KNOWN": maxKnown, "COMMAND_RETIRE": commandRetire, "COMMAND_OPEN": commandOpen, "STATE_RETIRED": stateRetired,
		"STATE_ACTIVE": stateActive, "REFUSED_BY_MONITORING": refusedByMonitoring,
		"offsetof(struct control, heartbeat)": controlHeartbeat, "offsetof(struct control, command)": controlCommand,
		"offsetof(struct control, state)": controlState, "offsetof(struct control, refused)": controlRefused,
		"offsetof(struct control, threads)": controlThreads, "offsetof(struct control, definition_bytes)": controlDefinitions,
		"offsetof(struct control, lost)": controlLost, "offsetof(struct control, places)": controlPlaces, "offsetof(struct control, beat)": controlBeat, "sizeof(struct control)": controlBytes,
		"offsetof(struct definition, line)": definitionLine, "offsetof(struct definition, name)": definitionName,
		"offsetof(struct definition, file)": definitionFile, "offsetof(struct definition, characters)": definitionCharacters,
		"sizeof(struct call)": callBytes, "offsetof(struct call, start)": callStart, "offsetof(struct call, code)": callCode,
		"sizeof(struct record)": recordBytes, "offsetof(struct record, start)": recordStart, "offsetof(struct record, end)": recordEnd,
		"offsetof(struct record, self)": recordSelf, "offsetof(struct record, code)": recordCode, "offsetof(struct record, cpu)": recordCPU,
		"offsetof(struct thread, head)": threadHead, "offsetof(struct thread, tail)": threadTail, "offsetof(struct thread, lost)": threadLost,
		"offsetof(struct thread, tid)": threadTID, "offsetof(struct thread, depth)": threadDepth,
		"offsetof(struct thread, left_out)": threadLeftOut, "GLOB_CHARACTERS": globCharacters,
		"offsetof(struct thread, calls)": threadCalls, "offsetof(struct thread, records)": threadRecords,
		"sizeof(struct config)": int(reflect.TypeFor[config]().Size()),
	}
	var source strings.Builder
	source.WriteString("#include <stddef.h>\ntypedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long u64;\n#include \"shared.h\"\n")
	for c, n := range places {
		fmt.Fprintf(&source, "_Static_assert(%s == %d, %q);\n", c, n, c)
	}
	file := filepath.Join(t.TempDir(), "places.c")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-I", "agent", "-fsyntax-only", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The image has no addresses in it, and its code ends before what is written begins.
func TestImage(t *testing.T) {
	a := readImage(image)
	if len(a.code)%pageBytes != 0 || a.start == 0 || a.start >= uint64(len(a.code)) || a.config < uint64(len(a.code)) || a.bytes%pageBytes != 0 || a.config+uint64(reflect.TypeFor[config]().Size()) > a.bytes {
		t.Errorf("code %d, start %d, configuration %d, in all %d", len(a.code), a.start, a.config, a.bytes)
	}
	if rest := image[len(a.code):]; len(bytes.Trim(rest, "\x00")) > 0 {
		t.Error("what follows the code is not zeros")
	}
}

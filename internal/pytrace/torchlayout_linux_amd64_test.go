package pytrace

import (
	"encoding/binary"
	"os"
	"regexp"
	"strconv"
	"testing"
)

func TestTorchVersions(t *testing.T) {
	for text, want := range map[string]string{
		"from typing import Optional\n\n__version__ = '2.15.0+cu132'\ndebug = False\n": "",
		"__version__ = '2.15.1'\n":        "",
		"__version__ = '2.1.0'\n":         "operators of PyTorch 2.1.0 cannot be recorded yet: it takes 2.15",
		"__version__ = '2.150.0'\n":       "operators of PyTorch 2.150.0 cannot be recorded yet: it takes 2.15",
		"__version__ = '2.15.0\x1b[1m'\n": "the version of its PyTorch is not known",
		"version = '2.15.0'\n":            "the version of its PyTorch is not known",
		"":                                "the version of its PyTorch is not known",
	} {
		l, err := torchLayoutOf([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || want == "" && l.sequence == 0 {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTorchShapes(t *testing.T) {
	for _, c := range []struct {
		words []uint32
		want  string
	}{
		{nil, ""},
		{[]uint32{0}, "[]"},
		{[]uint32{2, 3, 4}, "[3, 4]"},
		{[]uint32{2, 3, 4, 0, 1, 4294967295}, "[3, 4] [] [4294967295]"},
		{[]uint32{4294967295, 3}, "[3]"}, // no agent writes that
		{[]uint32{1}, "[]"},
	} {
		b := make([]byte, 4*torchShapeWords)
		for i, w := range c.words {
			binary.LittleEndian.PutUint32(b[4*i:], w)
		}
		if got := string(appendShapes(nil, b, len(c.words))); got != c.want {
			t.Errorf("%v: %s, want %s", c.words, got, c.want)
		}
	}
	appendShapes(nil, make([]byte, 4*torchShapeWords), 255)
}

// The header's assertions, which hold for the agent, say of the offsets what the recorder reads by.
func TestTorchStructures(t *testing.T) {
	text, err := os.ReadFile("torchagent/shared.h")
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]int)
	for _, m := range regexp.MustCompile(`_Static_assert\((?:__builtin_offset|size)of\(struct (\w+(?:, \w+)?)\) == (\d+)`).FindAllStringSubmatch(string(text), -1) {
		said[m[1]], _ = strconv.Atoi(m[2])
	}
	for name, want := range map[string]int{
		"control, heartbeat": controlHeartbeat, "control, command": controlCommand, "control, state": controlState, "control, lost": torchControlLost,
		"record": torchRecordBytes, "record, end": torchRecordEnd, "record, self": torchRecordSelf, "record, sequence": torchRecordSeq, "record, forward": torchRecordFwd,
		"record, cpu": torchRecordCPU, "record, scope": torchRecordScope, "record, name_bytes": torchRecordName, "record, shape_words": torchRecordShape,
		"record, name": torchRecordText, "record, shapes": torchRecordShapes, "call": torchCallBytes, "call, record": torchCallRecord,
		"thread, head": torchThreadHead, "thread, tail": torchThreadTail, "thread, lost": torchThreadLost, "thread, tid": torchThreadTID, "thread, depth": torchThreadDepth,
		"thread, calls": torchThreadCalls, "thread, records": torchThreadRecords, "config, own": torchConfigOwn, "config": binary.Size(torchConfig{}),
	} {
		if said[name] != want {
			t.Errorf("%s is at %d in the agent, at %d in the recorder", name, said[name], want)
		}
	}
	for name, want := range map[string]string{
		"MAX_THREADS": "64", "MAX_DEPTH": "128", "RECORDS": "(1 << 14)", "NAME_BYTES": "96", "SHAPE_WORDS": "24", "THREADS_AT": "PAGE", "THREAD_BYTES": "(4 << 20)",
	} {
		if m := regexp.MustCompile(`#define ` + name + ` (\([^/\n]*\)|\w+)`).FindSubmatch(text); m == nil || string(m[1]) != want {
			t.Errorf("%s is %s, want %s", name, m, want)
		}
	}
}

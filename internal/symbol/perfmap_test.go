package symbol

import (
	"errors"
	"strings"
	"testing"
)

func TestPerfMapLaterLineReplacesEarlier(t *testing.T) {
	table, err := ParsePerfMap(strings.NewReader("1000 100 LazyCompile:~a file.js:1:2\n1100 80 b\n1040 20 inner\n0x2000 10 c\n1100 40 B again\n" +
		"nonsense\n3000 0 empty\nffffffffffffffff 10 over\n4000 10\n5000 10 cut"))
	if err != nil {
		t.Fatal(err)
	}
	checkNames(t, table, map[uint64]string{0xfff: "", 0x1000: "LazyCompile:~a file.js:1:2", 0x1040: "inner", 0x1060: "LazyCompile:~a file.js:1:2",
		0x1100: "B again", 0x1140: "b", 0x1180: "", 0x2000: "c", 0x3000: "", 0x4000: "", 0x5000: "cut"})
}

func TestPerfMapWithoutLinesHasNoSymbols(t *testing.T) {
	if _, err := ParsePerfMap(strings.NewReader("hello\n" + strings.Repeat("x", 3*maxLineBytes) + "\n")); !errors.Is(err, ErrNoSymbols) {
		t.Errorf("got %v", err)
	}
}

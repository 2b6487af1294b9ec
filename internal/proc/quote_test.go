package proc

import (
	"os/exec"
	"strings"
	"testing"
)

func TestShellReadsBackWhatWasQuoted(t *testing.T) {
	words := []string{"wprof-record", "-d5s", "", "a b", "it's", "$HOME", "*", "~root", "-n", "java\n*", `back\slash`, "é", "#x", "a=b", "\xff"}
	script := "printf '%s\\0' " + strings.Join(QuoteAll(words), " ")
	out, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("the shell reads %q, want %q", got, words)
	}
}

func TestCommandLinesAreUTF8(t *testing.T) {
	if got := CommandLine([]string{"wprof-filter", "-n", "\xff\xfebad name"}); got != "wprof-filter -n '\uFFFDbad name'" {
		t.Errorf("got %q", got)
	}
}

func TestPlainWordsStayPlain(t *testing.T) {
	for _, word := range []string{"-d5s", "host.wprof", "--metadata", "a=b", "/tmp/x_y", "@list"} {
		if Quote(word) != word {
			t.Errorf("Quote(%q) = %s", word, Quote(word))
		}
	}
}

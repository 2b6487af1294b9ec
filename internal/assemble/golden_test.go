package assemble

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/internal/spool"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	damaging   = regexp.MustCompile(`(?m)^(drop|flip|lose|truncate) `)
	spoolBytes = regexp.MustCompile(` spool_bytes=\d+`)
)

// TestSpoolsBecomeStreams finalises every spool in testdata and compares the stream's text. Where nothing of the spool is
// missing or damaged, packing its records must not change the text.
func TestSpoolsBecomeStreams(t *testing.T) {
	texts, err := filepath.Glob("testdata/*.spool")
	if err != nil || len(texts) == 0 {
		t.Fatalf("no spools in testdata: %v", err)
	}
	for _, file := range texts {
		name := strings.TrimSuffix(filepath.Base(file), ".spool")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := finaliseText(t, string(text))
			golden := strings.TrimSuffix(file, ".spool") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
			}
			if damaging.Match(text) || bytes.Contains(text, []byte(" packed=1")) {
				return
			}
			packed := finaliseText(t, strings.Replace(string(text), "spool ", "spool packed=1 ", 1))
			if spoolBytes.ReplaceAllString(packed, "") != spoolBytes.ReplaceAllString(got, "") {
				t.Errorf("%s with packed records: got\n%s\nwant\n%s", file, packed, got)
			}
		})
	}
}

// finaliseText finalises a spool and returns the stream's text, with a line about what was damaged.
func finaliseText(t *testing.T, text string) string {
	t.Helper()
	s, err := spool.Open(spoolFile(t, text))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stream bytes.Buffer
	if _, err := Finalise(s, format.NewWriter(&stream, format.WriterOptions{}), textOptions()); err != nil {
		return fmt.Sprintf("error %v\n", err)
	}
	return streamText(t, stream.Bytes(), s.Damage())
}

func streamText(t *testing.T, stream []byte, d *spool.Damage) string {
	t.Helper()
	checkStream(t, stream)
	var out bytes.Buffer
	if err := textform.Dump(&out, bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	if d != nil {
		fmt.Fprintf(&out, "# %s\n", d)
	}
	return out.String()
}

// checkStream holds a stream against all that FORMAT.md promises.
func checkStream(t *testing.T, stream []byte) {
	t.Helper()
	_, err := check.Stream(bytes.NewReader(stream), func(f check.Finding) { t.Errorf("the stream is not sound: %v", f) })
	if err != nil {
		t.Errorf("check the stream: %v", err)
	}
}

package symbolarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

const entry = "buildid/ab/functions.gz"

// tarOf makes a tar file of entries: a name and the content of each.
func tarOf(entries ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: entries[i], Size: int64(len(entries[i+1])), Mode: 0o644})
		_, _ = io.WriteString(w, entries[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

func TestOtherFilesAreNoArchives(t *testing.T) {
	good := tarOf(mark, version, "buildid/ab/later.gz", "later", entry, "functions", "buildid/ab/lines.gz", "lines")
	if a, err := Open("x", bytes.NewReader(good), int64(len(good))); err != nil || a.Len() != 1 || len(a.lines) != 1 {
		t.Errorf("got %v, want functions and lines of one build-id", err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":             {nil, "not an archive of symbols"},
		"text":                {[]byte(strings.Repeat("text\n", 1000)), "not an archive of symbols"},
		"another tar":         {tarOf("a", "b"), "not an archive of symbols"},
		"a newer one":         {tarOf(mark, "2\n"), "newer version"},
		"a cut one":           {good[:1800], "its end is missing"},
		"one without its end": {good[:len(good)-1024], "its end is missing"},
		"a cut entry":         {tarOf(mark, version, entry, strings.Repeat("x", 5000))[:3000], "damaged"},
		"too many":            {tarOf(append([]string{mark, version}, make([]string, 2*maxEntries+2)...)...), "more than 65536 entries"},
		"a damaged part":      {append(bytes.Clone(good[:1024]), bytes.Repeat([]byte{0xff}, 2048)...), "damaged"},
	} {
		_, err := Open("x", bytes.NewReader(c.file), int64(len(c.file)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func FuzzArchive(f *testing.F) {
	var functions bytes.Buffer
	z := gzip.NewWriter(&functions)
	_, _ = z.Write([]byte{16, 8, 0, 1, 'f', 8, 8, 0, 1, 'g'})
	_ = z.Close()
	f.Add(tarOf(mark, version, entry, functions.String()))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Open("x", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for id := range a.lines {
			if lines, err := a.Lines([]byte(id)); err != nil {
				t.Error(err)
			} else if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Error(err)
			}
		}
		for id := range a.tables {
			if table, err := a.Functions([]byte(id)); err == nil && table.Len() == 0 {
				t.Error("a table without functions")
			}
		}
	})
}

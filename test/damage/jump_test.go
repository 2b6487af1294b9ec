//go:build linux

package damage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

// With --start, tools jump over most of a regular file. What is damaged there is reported as from a pipe, which is read
// to its end: the same status, the same message with the same places, the same output.
func TestJumpsReportDamageAsAWholeReadingDoes(t *testing.T) {
	c := committed(t)
	last := c.pieces[len(c.pieces)-1].at
	share(t, workers, len(c.pieces), ".wprof", func(i int, name string) (failures int) {
		p := &c.pieces[i]
		d := flipAt(c.stream, p.at+20, 1)
		if err := os.WriteFile(name, d.stream, 0o600); err != nil {
			t.Error(err)
			return 1
		}
		for _, argv := range [][]string{{"wprof-filter", "--start", "55s"}, {"wprof-flame", "--start", "55s", "--unit", "ns"}} {
			file := tools.Try(t, hang, nil, argv[0], append(argv[1:len(argv):len(argv)], name)...)
			pipe := tools.Try(t, hang, d.stream, argv[0], argv[1:]...)
			if p.at < last && file.Status != 4 {
				t.Errorf("%s: %q of a file: status %d, want 4: %s", d.what, argv, file.Status, file.Stderr)
				failures++
			}
			message := strings.ReplaceAll(string(pipe.Stderr), "standard input", filepath.Clean(name))
			if file.Status != pipe.Status || string(file.Stderr) != message {
				t.Errorf("%s: %q of a file: status %d, %q; of a pipe: status %d, %q", d.what, argv, file.Status, file.Stderr, pipe.Status, message)
				failures++
			}
			if argv[0] == "wprof-flame" && string(file.Stdout) != string(pipe.Stdout) {
				t.Errorf("%s: %q of a file has another output than of a pipe: %s", d.what, argv, fmt.Sprint(len(file.Stdout), " and ", len(pipe.Stdout), " bytes"))
				failures++
			}
		}
		return failures
	})
}

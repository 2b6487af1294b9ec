package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreHeldByTestsThatExist reads the page of promises: each row names tests, each of a package.
func TestPromisesAreHeldByTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Promise |") {
			continue
		}
		rows++
		held := strings.Split(line, " | ")
		quoted := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(held[len(held)-1], -1)
		if len(quoted) == 0 {
			t.Errorf("nothing holds this promise: %s", line)
		}
		folder := ""
		for _, q := range quoted {
			switch word := q[1]; {
			case strings.HasPrefix(word, "Test"):
				if exec.Command("grep", "-rq", "^func "+word+"(", "../../"+folder, "--include=*_test.go").Run() != nil {
					t.Errorf("there is no %s in %q", word, folder)
				}
			case strings.Contains(word, "/") && !strings.HasPrefix(word, "scripts/"), word == "bpf", word == "format":
				folder = word
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d promises", rows)
	}
}

//go:build linux

package sql

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// block is one of SQL on the page, under its heading. kind is the word behind "sql": "" for what every reader runs.
type block struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
	kind string
}

// isQuestion reports whether a block is one of the numbered questions.
func (b *block) isQuestion() bool { return b.kind == "" && b.Name[0] >= '0' && b.Name[0] <= '9' }

// readPage returns the page's blocks of SQL, and its commands.
func readPage(t testing.TB) (blocks []block, commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile("(?ms)^## ([^\n]*)$|^```sql([^\n]*)\n(.*?)^```|^    (wprof[^\n]*|mkdir[^\n]*)$")
	heading := "."
	for _, m := range part.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[1] != "":
			heading = m[1]
		case m[4] != "":
			commands = append(commands, m[4])
		default:
			blocks = append(blocks, block{heading, m[3], strings.TrimSpace(m[2])})
		}
	}
	return blocks, commands
}

// choose returns the blocks that match.
func choose(blocks []block, want func(*block) bool) (chosen []block) {
	for i := range blocks {
		if want(&blocks[i]) {
			chosen = append(chosen, blocks[i])
		}
	}
	return chosen
}

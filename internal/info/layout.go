package info

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
)

const (
	// pageWidth is the maximum length of lines, except those with a longer word.
	pageWidth   = 100
	labelWidth  = 12
	columnSpace = 2
)

// fact writes a label in the first column and a text in the second, on as many lines as needed.
func fact(w io.Writer, what, format string, a ...any) {
	factWords(w, what, strings.Split(fmt.Sprintf(format, a...), " "), "")
}

// factWords is fact for words that are not broken. continued ends each line but the last.
func factWords(w io.Writer, what string, words []string, continued string) {
	line := fmt.Sprintf("%-*s", labelWidth, what)
	used := labelWidth
	for i, word := range words {
		space := 0
		if i > 0 {
			space = 1
		}
		if n := utf8.RuneCountInString(word); i > 0 && used+space+n+len(continued) > pageWidth {
			fmt.Fprintln(w, line+continued)
			line, used, space = strings.Repeat(" ", labelWidth), labelWidth, 0
		}
		line += strings.Repeat(" ", space) + word
		used += space + utf8.RuneCountInString(word)
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// table writes rows with right-aligned columns, except the last one, which is left-aligned and shortened to fit the page.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		used := 0
		for i, cell := range row[:len(row)-1] {
			fmt.Fprintf(&line, "%*s", columnSpace+widths[i], cell)
			used += columnSpace + widths[i]
		}
		line.WriteString(strings.Repeat(" ", columnSpace) + shortened(row[len(row)-1], pageWidth-used-columnSpace))
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// shortened leaves out the middle of a text that is longer than n characters. Of a path, the end says most.
func shortened(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := n / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-head-1):])
}

// printMore prints how many rows were left out.
func printMore(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, "  and %s more\n", cli.Grouped(n))
	}
}

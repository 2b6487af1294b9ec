package cli

import (
	"fmt"
	"strings"
)

// man returns the manual page in man(7) macros.
func (t Tool) man() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"wprof\" \"wprof manual\"\n", strings.ToUpper(t.Name))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(t.Name), roff(t.Summary))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n", roff(t.Name), roff(strings.TrimPrefix(t.usage(), t.Name+" ")))
	if t.Description != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(t.Description))
	}
	if len(t.Commands) > 0 {
		b.WriteString(t.commandsMan())
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range t.groups() {
		fmt.Fprintf(&b, ".SS %s\n", roff(g.Title))
		for _, f := range g.Flags {
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", f.manSynopsis(), roff(f.describe()))
		}
	}
	for _, s := range t.Sections {
		fmt.Fprintf(&b, ".SH %s\n%s", roff(strings.ToUpper(s.Title)), paragraphs(s.Text))
	}
	if len(t.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
	}
	for _, e := range t.Examples {
		fmt.Fprintf(&b, "%s\n.PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n.PP\n", roff(e.Text), roff(e.Command))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range t.statuses() {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", s.code, roff(s.text))
	}
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, name := range tools() {
		if name != t.Name {
			others = append(others, fmt.Sprintf(".BR %s (1)", roff(name)))
		}
	}
	b.WriteString(strings.Join(others, ",\n") + "\n")
	return b.String()
}

// manSynopsis is synopsis with bold names and an italic placeholder.
func (f Flag) manSynopsis() string {
	place := `\fI` + roff(f.placeholder()) + `\fR`
	var names []string
	for _, s := range f.shortFirst() {
		name := `\fB` + roff(s) + `\fR`
		if f.Kind == Optional && len(s) == 2 {
			name += "[" + place + "]"
		}
		names = append(names, name)
	}
	value := strings.Replace(f.valueSynopsis(), f.placeholder(), place, 1)
	return strings.Join(names, ", ") + value
}

func paragraphs(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(p, " ") {
			fmt.Fprintf(&b, ".PP\n.EX\n%s\n.EE\n", roff(p))
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", roff(p))
	}
	return b.String()
}

// roff escapes what the formatter would interpret: backslashes, what it prints as typographic characters that no
// shell understands when they are copied, and control characters at the start of a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

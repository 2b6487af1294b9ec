package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const helpWidth = 80

// help is what --help prints: at most 80 columns.
func (t Tool) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage: %s\n", t.Name, t.Summary, t.usage())
	if t.Description != "" {
		b.WriteString("\n" + wrap(t.Description, "", helpWidth))
	}
	if len(t.Commands) > 0 {
		b.WriteString(t.commandsHelp())
	}
	for _, g := range t.groups() {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, f := range g.Flags {
			b.WriteString(f.help())
		}
	}
	for _, s := range t.Sections {
		fmt.Fprintf(&b, "\n%s:\n%s", s.Title, wrap(s.Text, "  ", helpWidth))
	}
	b.WriteString("\nExit status:\n")
	for _, s := range t.statuses() {
		b.WriteString(hang(fmt.Sprintf("  %d  ", s.code), s.text))
	}
	if len(t.Examples) > 0 {
		b.WriteString("\nExamples:\n")
	}
	for _, e := range t.Examples {
		b.WriteString(wrap(e.Text, "  # ", helpWidth) + wrapCommand(e.Command))
	}
	return b.String()
}

func (t Tool) usage() string {
	if len(t.Commands) > 0 {
		return t.Name + " COMMAND [ARG...]"
	}
	usage := t.Name + " [flags]"
	if t.ArgsUsage != "" {
		usage += " " + t.ArgsUsage
	}
	if t.AllowCommand {
		usage += " [-- CMD [ARG...]]"
	}
	return usage
}

// flagColumn is where the text of flags begins, longColumn where the long names of those begin that have no short one.
const (
	flagColumn = 28
	longColumn = 6
)

func (f Flag) help() string {
	head := "  " + f.synopsis() + "  "
	if strings.HasPrefix(head, "  --") {
		head = strings.Repeat(" ", longColumn-2) + head
	}
	if n := columns(head); n <= flagColumn {
		return hang(head+strings.Repeat(" ", flagColumn-n), f.describe())
	}
	return strings.TrimRight(head, " ") + "\n" + wrap(f.describe(), strings.Repeat(" ", flagColumn), helpWidth)
}

// synopsis is a flag as it is typed: -d, --dur DURATION.
func (f Flag) synopsis() string {
	value := f.valueSynopsis()
	var names []string
	for _, s := range f.shortFirst() {
		if f.Kind == Optional && len(s) == 2 {
			s += "[" + f.placeholder() + "]"
		}
		names = append(names, s)
	}
	return strings.Join(names, ", ") + value
}

func (f Flag) valueSynopsis() string {
	switch f.Kind {
	case Bool:
		return ""
	case Optional:
		return "[=" + f.placeholder() + "]"
	default:
		return " " + f.placeholder()
	}
}

// shortFirst are all names of a flag with their dashes, the short ones first.
func (f Flag) shortFirst() []string {
	var short, long []string
	for _, s := range f.spellings() {
		if len(s) == 2 {
			short = append(short, s)
		} else {
			long = append(long, s)
		}
	}
	return append(short, long...)
}

func (f Flag) placeholder() string {
	if f.Value != "" {
		return f.Value
	}
	return strings.ToUpper(f.Name)
}

func (f Flag) describe() string {
	text := f.Usage
	if f.Kind == List {
		text += " Repeatable."
	}
	if len(f.Choices) > 0 {
		words := strings.Join(f.Choices, ", ")
		if f.Negate {
			words += "; each also with no- before it"
		}
		text += " One of: " + words + "."
		if f.CommaList {
			text = strings.Replace(text, " One of: ", " Comma-separated list of: ", 1)
		}
	}
	if f.Default != "" {
		text += " [default: " + f.Default + "]"
	}
	return text
}

// columns is the width of a text on the screen, assuming that each letter is one column wide.
func columns(s string) int { return utf8.RuneCountInString(s) }

// hang wraps text after a head, with later lines indented by the head's width.
func hang(head, text string) string {
	wrapped := wrap(text, strings.Repeat(" ", columns(head)), helpWidth)
	return head + strings.TrimLeft(wrapped, " ")
}

// wrap breaks text into lines of at most width columns; empty lines in it separate paragraphs and lines that begin
// with a space stay as they are.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	line := ""
	flush := func() {
		if line != "" {
			b.WriteString(indent + line + "\n")
		}
		line = ""
	}
	for _, raw := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if raw == "" || raw[0] == ' ' {
			flush()
			b.WriteString(strings.TrimRight(indent+raw, " ") + "\n")
			continue
		}
		for _, word := range strings.Fields(raw) {
			if line != "" && columns(indent)+columns(line)+1+columns(word) > width {
				flush()
			}
			if line != "" {
				line += " "
			}
			line += word
		}
	}
	flush()
	return b.String()
}

// wrapCommand breaks a long command with backslashes, so that it can still be copied.
func wrapCommand(command string) string {
	const indent = "    "
	var b strings.Builder
	line := indent
	for i, word := range shellWords(command) {
		if i > 0 && columns(line)+columns(word)+3 > helpWidth {
			b.WriteString(line + " \\\n")
			line = indent + "  "
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// shellWords cuts a command at spaces outside quotes.
func shellWords(command string) []string {
	var quote rune
	return strings.FieldsFunc(command, func(r rune) bool {
		switch {
		case quote == r:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		}
		return quote == 0 && r == ' '
	})
}

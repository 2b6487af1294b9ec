package cli

import (
	"fmt"
	"strings"
)

const helpWidth = 80

// help is what --help prints: at most 80 columns.
func (t Tool) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage: %s\n", t.Name, t.Summary, t.usage())
	if t.Description != "" {
		b.WriteString("\n" + wrap(t.Description, "", helpWidth))
	}
	for _, g := range t.groups() {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, f := range g.Flags {
			b.WriteString(f.help())
		}
	}
	if len(t.Examples) > 0 {
		b.WriteString("\nExamples:\n")
	}
	for _, e := range t.Examples {
		b.WriteString(wrap("# "+e.Text, "  ", helpWidth) + wrapCommand(e.Command))
	}
	for _, s := range t.Sections {
		fmt.Fprintf(&b, "\n%s:\n%s", s.Title, wrap(s.Text, "  ", helpWidth))
	}
	b.WriteString("\nExit status:\n")
	for _, s := range statuses() {
		b.WriteString(hang(fmt.Sprintf("  %d  ", s.code), s.text))
	}
	return b.String()
}

func (t Tool) usage() string {
	usage := t.Name + " [flags]"
	if t.ArgsUsage != "" {
		usage += " " + t.ArgsUsage
	}
	if t.AllowCommand {
		usage += " [-- CMD [ARG...]]"
	}
	return usage
}

const flagColumn = 28

func (f Flag) help() string {
	head := "  " + f.synopsis() + "  "
	text := f.describe()
	if len(head) > flagColumn {
		return strings.TrimRight(head, " ") + "\n" + wrap(text, strings.Repeat(" ", flagColumn), helpWidth)
	}
	return hang(head+strings.Repeat(" ", flagColumn-len(head)), text)
}

// synopsis is a flag as it is typed: -d, --dur DURATION.
func (f Flag) synopsis() string {
	var names []string
	for _, a := range f.Aliases {
		if len(a) == 1 {
			names = append(names, "-"+a)
		}
	}
	names = append(names, "--"+f.Name)
	for _, a := range f.Aliases {
		if len(a) > 1 {
			names = append(names, "--"+a)
		}
	}
	s := strings.Join(names, ", ")
	switch {
	case f.Kind == Bool:
	case f.Kind == Optional:
		s += "[=" + f.placeholder() + "]"
	default:
		s += " " + f.placeholder()
	}
	return s
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
			text = strings.Replace(text, " One of: ", " Comma-separated from: ", 1)
		}
	}
	if f.Default != "" {
		text += " [default: " + f.Default + "]"
	}
	return text
}

// hang wraps text behind a head, with later lines indented by the head's width.
func hang(head, text string) string {
	wrapped := wrap(text, strings.Repeat(" ", len(head)), helpWidth)
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
			if line != "" && len(indent)+len(line)+1+len(word) > width {
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
	for i, word := range strings.Fields(command) {
		if i > 0 && len(line)+len(word)+3 > helpWidth {
			b.WriteString(line + " \\\n")
			line = indent + "  "
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

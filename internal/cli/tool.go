package cli

import (
	"io"
	"os"
	"slices"
)

// FlagKind is the type of a flag's value.
type FlagKind int

const (
	Bool     FlagKind = iota
	String            // any text
	List              // any text, repeatable; values are not split at commas
	Duration          // see [ParseDuration]
	Size              // see [ParseSize]
	Int               // a whole number
	Optional          // a value that is attached or left out: -S, -Stimer=99hz, --stacks=timer; may be repeated
)

// Flag defines one flag.
type Flag struct {
	Name    string   // the long name
	Aliases []string // one letter: a short flag; more: another long name
	Kind    FlagKind
	Value   string // placeholder for the value in the help: DURATION
	Default string // as it would be typed; "" for none
	Usage   string // its purpose, in one or more sentences
	// Choices are the valid values; empty: any. Of an Optional value only the word before "=" is checked against
	// them, and nothing of a value that begins with +.
	Choices  []string
	Synonyms []string // other names of Choices, which are valid, but in no list
	// CommaList allows several of Choices in one value, separated by commas; Negate, each with no- before it.
	CommaList bool
	Negate    bool
	// Valued are those of Choices that are followed by = and a value, which may have commas: what follows a comma belongs to it unless it is
	// a choice.
	Valued   []string
	Details  map[string]Details        // those of Choices that may be followed by = and a list
	Other    func(word string) bool    // accepts words that are none of Choices; may be nil
	Hint     func(value string) string // advice on a value that is none of Choices; may be nil, and return ""
	Files    bool                      // the value is a file, for completion
	Mode     bool                      // without the flag the tool does something else, and also with another such flag
	ListFile bool                      // @FILE is a value, see [ExpandLists]; for completion
	Begins   []Beginning               // of values; for completion

	Check func(string) error // validates a value before anything else happens
}

// Listed is the command that lists how a value goes on after its beginning.
type Listed int

const (
	Unlisted  Listed = iota
	OfMachine        // TOOL --list 'WORD…*'
	OfCommand        // TOOL --list 'WORD…*' -- COMMAND, where the line has a command
)

// Beginning is how a value may begin, for completion.
type Beginning struct {
	Word   string // up to a colon
	Text   string // what it means
	Listed Listed // what lists how the value goes on: the text of each line up to a space
}

func (f Flag) names() []string { return append([]string{f.Name}, f.Aliases...) }

// Group is a titled group of flags in the help.
type Group struct {
	Title string
	Flags []Flag
}

// Example is a command for the help, with its explanation.
type Example struct {
	Command, Text string
}

// Section is a part of the manual after the flags.
type Section struct {
	Title, Text string
}

// Tool is one program.
type Tool struct {
	Name         string
	Summary      string // one line
	ArgsUsage    string // [FILE...]
	Description  string
	Groups       []Group
	Examples     []Example
	Sections     []Section
	Hints        map[string]string // advice on flags that the tool lacks, by their names without dashes
	Filters      []Group           // flags of wprof-filter, which the message about a flag that the tool lacks suggests
	Commands     []Command         // the tool runs them; it has neither Groups nor Run
	Introduction string            // printed by a tool with commands that is run without one
	AllowCommand bool              // the words after "--" are a command, not arguments

	CThreads bool // the program's threads are the C library's if it is built with cgo
	OwnSpace bool // Run calls CheckAddressSpace: the tool needs more than [RenderingSpace]
	Run      func(*Invocation) error
}

// Std are the standard streams of a run.
type Std struct {
	In, Out *os.File
	Err     io.Writer
}

// common returns the flags that every tool has.
func common() Group {
	return Group{Title: "Help", Flags: []Flag{
		{Name: "help", Aliases: []string{"h"}, Usage: "Show this help."},
		{Name: "version", Usage: "Show the version."},
		{Name: "completion", Kind: String, Value: "SHELL", Choices: []string{"bash", "zsh", "fish"}, Usage: "Print the completion script for a shell."},
		{Name: "man", Usage: "Print the manual page."},
	}}
}

func (t Tool) groups() []Group { return append(append([]Group(nil), t.Groups...), common()) }

func (t Tool) flags() []Flag {
	var all []Flag
	for _, g := range t.groups() {
		all = append(all, g.Flags...)
	}
	return all
}

func flagNamed(groups []Group, name string) (f Flag, found bool) {
	for _, g := range groups {
		for _, f := range g.Flags {
			if slices.Contains(f.names(), name) {
				return f, true
			}
		}
	}
	return Flag{}, false
}

package perfetto

import (
	"bytes"
	"strings"

	"wprof/format"
	"wprof/internal/cmdline"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// maxWords bounds how many words of a command line are shown.
const maxWords = 1024

// label is what a process is called. Its command line may be nil.
func label(c *format.Command, comm []byte) string {
	return cmdline.Label(cmdline.Words(c.GetArgs()), string(comm))
}

// processLabel is what the process of a thread is called.
func processLabel(of *tracks.Task) string { return label(of.Command, of.Def.ProcessComm) }

// processWords are the words of [commandWords], with the container after the label: the rows of processes show it.
func processWords(of *tracks.Task) [][]byte {
	words := commandWords(of.Command, of.Def.ProcessComm)
	in := of.In.Label()
	if in == "" {
		return words
	}
	if words == nil {
		words = [][]byte{stacks.Printable(of.Def.ProcessComm, stacks.Unnamed)}
	}
	words[0] = append(append(bytes.Clone(words[0]), " ("+in...), ')')
	return words
}

// commandWords returns a process's label and the rest of its command line; nil where none is known. The engine takes the first one for
// the process's name, and all of them for its command line: python3 server.py --port 80. Where the command line does not begin with
// the label, it follows in brackets: python3 server.py [/usr/bin/python3 -u server.py].
func commandWords(c *format.Command, comm []byte) [][]byte {
	if c == nil || len(c.Args) == 0 || c.Args[0] == 0 {
		return nil // without a first word the process would have no name
	}
	label := label(c, comm)
	var words [][]byte
	rest := c.Args
	for len(rest) > 0 && len(words) < maxWords {
		var word []byte
		word, rest, _ = bytes.Cut(rest, []byte{0})
		words = append(words, stacks.Printable(word, ""))
	}
	if c.Cut || len(rest) > 0 {
		words = append(words, []byte("…"))
	}
	for n := range words {
		if string(bytes.Join(words[:n+1], []byte(" "))) == label {
			return append([][]byte{[]byte(label)}, words[n+1:]...)
		}
		if n > strings.Count(label, " ") {
			break
		}
	}
	words[0] = append([]byte("["), words[0]...)
	words[len(words)-1] = append(words[len(words)-1], ']')
	return append([][]byte{[]byte(label)}, words...)
}

package probeplan

import (
	"errors"
	"testing"

	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// Without a file in the definition, an error says in which one the name was looked for.
func TestNotFoundInCommand(t *testing.T) {
	missing := &usercode.NotFound{What: "function", Name: "malloc"}
	const want = "there is no function malloc in server; of a library, add (path:FILE), as in (path:libc.so.6)"
	for _, row := range []struct {
		definition string
		of         codeFile
		err        error
		want       string
	}{
		{"u:malloc", codeFile{path: "/usr/bin/server"}, missing, want},
		{"u:malloc", codeFile{path: "/usr/bin/server", pid: 7}, missing, missing.Error()},
		{"u:malloc (path:server)", codeFile{path: "/usr/bin/server"}, missing, missing.Error()},
		{"u:malloc", codeFile{path: "/usr/bin/server"}, errors.New("no symbols"), "no symbols"},
	} {
		d, err := probe.Parse(row.definition)
		if err != nil {
			t.Fatal(err)
		}
		e := &end{leg: &d.Legs[0]}
		if got := inCommand(e, row.of, row.err).Error(); got != row.want {
			t.Errorf("%s: %s; want %s", row.definition, got, row.want)
		}
	}
}

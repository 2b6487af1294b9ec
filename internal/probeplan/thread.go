package probeplan

import (
	"errors"

	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// errNoNames: names of arguments are not known here.
var errNoNames = errors.New("names and fields of arguments need DWARF, and nothing describes this code: install its debug file, or use arg:0 and so on")

const commWord = "comm"

// read plans the reading of an argument, or of what the thread has under a name that no argument has.
func (v *variant) read(a *probe.Arg) (resolved, error) {
	r, err := v.resolve(a)
	var missing *usercode.NotFound
	if err == nil || !errors.Is(err, errNoNames) && !errors.Is(err, usercode.ErrReturned) && !errors.As(err, &missing) {
		return r, err
	}
	read, ok := threadRead(a)
	if !ok {
		return r, err
	}
	read.Leaf, err = read.Leaf.WithType(a.Type, false)
	return resolved{read: read}, err
}

// threadRead plans the reading of one of [probe.ThreadWords].
func threadRead(a *probe.Arg) (read probe.Read, ok bool) {
	if a.Base != probe.BaseName || len(a.Access) > 0 {
		return probe.Read{}, false
	}
	if a.Name == commWord {
		return probe.Read{From: probe.From{Kind: probe.FromComm}, Leaf: probe.Leaf{Kind: probe.LeafString}}, true
	}
	kind, ok := map[string]probe.FromKind{"pid": probe.FromProcess, "tid": probe.FromThread, "cpu": probe.FromCPU}[a.Name]
	return probe.Read{From: probe.From{Kind: kind, Size: 4}, Leaf: probe.Leaf{Size: 4}}, ok
}

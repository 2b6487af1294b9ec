package spool

import (
	"errors"
	"io"
)

// ErrNoRound is what [Writer.Salvage] returns about a spool that has no whole round: nothing in it is certain.
var ErrNoRound = errors.New("the spool has no whole round")

// Salvage is for a recording that could not be written to its end: the spool up to its last whole round, to be
// finalised like one that a killed recorder has left behind. Nothing may be written afterwards.
func (w *Writer) Salvage() (*Spool, error) {
	s, err := read(w.file, w.size)
	if errors.Is(err, ErrNoSpool) || err == nil && s.limit == 0 {
		return nil, ErrNoRound
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// CopyUnlinked copies a spool that comes through a pipe into a file without a name, so that it can be read as one.
func CopyUnlinked(r io.Reader) (*Spool, error) {
	w, err := CreateUnlinked("")
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(w.file, r)
	if err != nil {
		w.file.Close()
		return nil, err
	}
	s, err := read(w.file, size)
	if err != nil {
		w.file.Close()
		return nil, err
	}
	s.file, s.own = w.file, true
	return s, nil
}

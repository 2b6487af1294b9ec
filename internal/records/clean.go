package records

// Texts converts texts to valid UTF-8, for callers that make no records.
type Texts struct{ texts texts }

// Clean replaces what is not UTF-8 by U+FFFD.
func (t *Texts) Clean(raw []byte) string { return t.texts.clean(raw) }

// NotUTF8 returns the first text that was not valid UTF-8, as it is shown; "": all were.
func (t *Texts) NotUTF8() string { return t.texts.first }

// NotUTF8 returns the first text of a frame that was not valid UTF-8, as it is shown; "": all were.
func (s *Stacks) NotUTF8() string { return s.texts.first }

package records

// Texts makes valid UTF-8 of texts for those who make no records of them.
type Texts struct{ texts texts }

// Clean replaces what is not UTF-8 by U+FFFD.
func (t *Texts) Clean(raw []byte) string { return t.texts.clean(raw) }

// NotUTF8 is the first text that held other bytes than UTF-8, as it is shown; "": none did.
func (t *Texts) NotUTF8() string { return t.texts.first }

// NotUTF8 is the first text of a frame that held other bytes than UTF-8, as it is shown; "": none did.
func (s *Stacks) NotUTF8() string { return s.texts.first }

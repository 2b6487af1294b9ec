package textform

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/spell"
)

// Undump reads the text form (docs/text-form.md) and writes the stream that it describes, faults included. It holds
// one block at a time. Errors begin with the number of the line.
func Undump(w io.Writer, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	u := &undumper{out: newComposer(w)}
	u.voc = newVocabulary(&u.out.tally.Types)
	number := 0
	for lines.Scan() {
		number++
		if err := u.line(lines.Text()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: the line is longer than %d MiB", number+1, maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("read the text form: %w", err)
	}
	err := u.finish()
	if err == nil {
		err = u.out.flush()
	}
	if err != nil {
		return fmt.Errorf("line %d, the last one: %w", number, err)
	}
	return nil
}

// undumper turns lines into blocks.
type undumper struct {
	voc     *vocabulary
	out     *composer
	block   *draft          // the one that the next lines belong to; nil between blocks
	session *format.Session // of the section
	begun   bool            // a section, or a block without one, has begun
	noIndex bool            // the section's end is to stand without an index
	indexed bool            // the section has its index

	sections uint64
}

// line parses one line. Its first word determines what it is.
func (u *undumper) line(line string) error {
	words, err := splitLine(line)
	if err != nil || len(words) == 0 {
		return err
	}
	first := words[0]
	if first.valued {
		return fmt.Errorf("a line begins with a time, or with a word such as section, task, block or end, not with %s", spell.Clip(strings.TrimSpace(line)))
	}
	if strings.ContainsRune("+-0123456789", rune(first.key[0])) {
		return u.event(words)
	}
	switch rest := words[1:]; first.key {
	case "section":
		return u.section(rest)
	case "block":
		return u.explicitBlock(rest)
	case "index":
		return u.index(rest)
	case "end":
		return u.end(rest)
	case "payload":
		return u.payload(rest)
	case "raw":
		return u.raw(rest)
	case "cut":
		return u.cut(rest)
	}
	return u.detail(words, len(line))
}

// section begins a section: its header block, to which the details that follow belong.
func (u *undumper) section(words []word) error {
	if err := u.finish(); err != nil {
		return err
	}
	u.sections++
	session := &format.Session{Id: u.sections}
	if hasWord(words, "continues") && u.session != nil {
		last := u.session
		session = &format.Session{Id: last.Id, Epoch: last.Epoch + 1, Host: last.Host, BootId: last.BootId, Open: last.Open}
	}
	b := &draft{typ: format.BlockHeaderType, explicit: true, msg: session, version: format.CurrentVersion()}
	// Times on the line may count from the opening, wherever that stands.
	for _, opening := range []bool{true, false} {
		for _, w := range words {
			if (w.key == "open") != opening {
				continue
			}
			if err := u.sectionWord(b, session, w); err != nil {
				return err
			}
		}
		u.voc.Open = session.Open
	}
	u.session, u.block, u.begun, u.noIndex, u.indexed = session, b, true, false, false
	return nil
}

func hasWord(words []word, key string) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.key == key })
}

func (u *undumper) sectionWord(b *draft, session *format.Session, w word) error {
	if done, err := setVersion(&b.version, w); done {
		return err
	}
	if done, err := b.setWord(u.voc, w); done {
		return err
	}
	return u.voc.setField(session.ProtoReflect(), w)
}

// setVersion takes a word about the version of the format.
func setVersion(v *format.Version, w word) (done bool, err error) {
	bits := 16
	set := func(n uint64) { v.Features = n }
	switch w.key {
	case "major":
		set = func(n uint64) { v.Major = uint16(n) }
	case "minor":
		set = func(n uint64) { v.Minor = uint16(n) }
	case "features":
		bits = 64
	default:
		return false, nil
	}
	n, err := spell.ParseUint(w.value, bits)
	if err != nil {
		return true, fmt.Errorf("%s: %w", w.key, err)
	}
	set(n)
	return true, nil
}

// explicitBlock begins the block that the next lines belong to.
func (u *undumper) explicitBlock(words []word) error {
	if len(words) == 0 || words[0].valued {
		return errors.New("block names no type; write block events, block definitions, or a number")
	}
	b, err := u.newBlock(words[0].key)
	if err != nil {
		return err
	}
	b.explicit, u.begun = true, true
	return u.begin(b, words[1:])
}

func (u *undumper) newBlock(name string) (*draft, error) {
	switch name {
	case "events":
		return &draft{typ: format.BlockEvents}, nil
	case "definitions":
		return &draft{typ: format.BlockDefinitions, msg: &format.Definitions{}}, nil
	case "header":
		return nil, errors.New("a header block is written by the word section; block 1 is one with any payload")
	case "index", "end":
		return nil, fmt.Errorf("write such a block with the word %s; a block type by number is for any payload", name)
	}
	number, err := u.voc.blockTypes.Parse("block type", name, 8)
	if err != nil {
		return nil, err
	}
	return &draft{typ: format.BlockType(number), opaque: true}, nil
}

// begin finishes the block so far and takes the next one.
func (u *undumper) begin(b *draft, words []word) error {
	if err := u.finish(); err != nil {
		return err
	}
	for _, w := range words {
		done, err := b.setWord(u.voc, w)
		if err != nil {
			return err
		}
		if !done {
			return spell.Unknown("property of a block", w.key, blockWords())
		}
	}
	if b.typ == format.BlockDefinitions || b.typ == format.BlockEvents {
		u.out.enter(b)
	}
	u.block = b
	u.indexed = u.indexed || b.typ == format.BlockIndex
	return nil
}

func (u *undumper) inSection(word string) error {
	if !u.begun {
		return fmt.Errorf("%s stands before the first section", word)
	}
	return nil
}

// event adds an event to the block of events, which begins here if none has.
func (u *undumper) event(words []word) error {
	if err := u.inSection("an event"); err != nil {
		return err
	}
	e, err := u.voc.parseEvent(words)
	if err != nil {
		return err
	}
	b := u.block
	state := e.IsState()
	if b == nil || b.typ != format.BlockEvents || b.opaque || !b.explicit && (b.full() || state && !b.inState) {
		b = &draft{typ: format.BlockEvents}
		if state {
			b.flags = format.BlockState
		}
		if err := u.begin(b, nil); err != nil {
			return err
		}
	}
	b.inState = state
	return b.addEvent(u.voc, e)
}

// detail adds a part to a message: the innermost one under construction that has such parts, else to definitions.
func (u *undumper) detail(words []word, length int) error {
	word := words[0].key
	if err := u.inSection(spell.Clip(word)); err != nil {
		return err
	}
	d, into := u.findDetail(word)
	if into == nil && d.Parent != "Definitions" {
		if d.Word == "" {
			return spell.Unknown("line", word, u.lineWords())
		}
		return fmt.Errorf("%s belongs to %s; write it after that", word, strings.ToLower(string(d.Parent)))
	}
	if d.Parent == "Definitions" && (into == nil || !u.block.explicit && u.block.full()) {
		if err := u.begin(&draft{typ: format.BlockDefinitions, msg: &format.Definitions{}}, nil); err != nil {
			return err
		}
		into = u.block.msg.ProtoReflect()
	}
	if err := u.block.grow(length); err != nil {
		return err
	}
	if d.Parent == "Definitions" {
		if err := u.block.encodeDefinition(); err != nil {
			return err
		}
	}
	return u.addDetail(d, into, words[1:])
}

// findDetail finds the message under construction that a detail belongs to, from the innermost one out. If there is none, the
// detail that it returns names the message that such details belong to; definitions can begin anywhere.
func (u *undumper) findDetail(word string) (found spell.Detail, into protoreflect.Message) {
	for _, d := range u.voc.details {
		if d.Word != word {
			continue
		}
		if found.Word == "" || d.Parent == "Definitions" {
			found = d
		}
	}
	if u.block == nil || u.block.msg == nil {
		return found, nil
	}
	around := append([]protoreflect.Message{u.block.msg.ProtoReflect()}, u.block.inner...)
	for i := len(around) - 1; i >= 0; i-- {
		for _, d := range u.voc.details {
			if d.Word == word && d.Parent == around[i].Descriptor().Name() {
				u.block.inner = u.block.inner[:i]
				return d, around[i]
			}
		}
	}
	return found, nil
}

func (u *undumper) addDetail(d spell.Detail, into protoreflect.Message, words []word) error {
	f := into.Descriptor().Fields().ByName(d.Field)
	u.block.give(d.Field)
	if len(words) == 1 && !words[0].valued && words[0].key == "none" {
		into.Clear(f)
		return nil
	}
	if f.Kind() == protoreflect.StringKind {
		for _, w := range words {
			value, err := parsePlainScalar(f, w.value+w.key)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Word, err)
			}
			into.Mutable(f).List().Append(value)
		}
		return nil
	}
	var m protoreflect.Message
	if f.IsList() {
		m = into.Mutable(f).List().AppendMutable().Message()
	} else {
		m = into.Mutable(f).Message()
	}
	u.block.inner = append(u.block.inner, m)
	if t, ok := m.Interface().(*format.EventType); ok {
		u.voc.types.Add(t)
	}
	return u.setDetail(d, m, words)
}

func (u *undumper) setDetail(d spell.Detail, m protoreflect.Message, words []word) error {
	lead := m.Descriptor().Fields().ByName(d.Lead)
	if lead != nil && len(words) > 0 && (words[0].key == "" || !words[0].valued) {
		value, err := u.voc.parseScalar(lead, words[0].key+words[0].value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", d.Word, d.Lead, err)
		}
		m.Set(lead, value)
		words = words[1:]
	}
	seen := map[string]bool{}
	for _, w := range words {
		if seen[w.key] {
			return fmt.Errorf("%s stands twice", spell.Clip(w.key))
		}
		seen[w.key] = true
		if err := u.voc.setField(m, w); err != nil {
			return err
		}
	}
	return nil
}

// lineWords are all words that a line may begin with.
func (u *undumper) lineWords() []string {
	words := []string{"section", "block", "index", "end", "payload", "raw", "cut"}
	for _, d := range u.voc.details {
		words = append(words, d.Word)
	}
	return words
}

// index begins an index block; without entries it is the right one, index none leaves it out.
func (u *undumper) index(words []word) error {
	if err := u.inSection("index"); err != nil {
		return err
	}
	if len(words) == 1 && words[0].key == "none" {
		u.noIndex = true
		return u.finish()
	}
	return u.begin(&draft{typ: format.BlockIndex, explicit: true, msg: &format.Index{}}, words)
}

// end writes the index, unless the text has written it or left it out, and begins the end block.
func (u *undumper) end(words []word) error {
	if err := u.inSection("end"); err != nil {
		return err
	}
	if !u.noIndex && !u.indexed {
		if err := u.index(nil); err != nil {
			return err
		}
	}
	end := &format.End{Last: true}
	b := &draft{typ: format.BlockEnd, explicit: true, msg: end}
	if err := u.begin(b, nil); err != nil {
		return err
	}
	for _, w := range words {
		if err := u.endWord(b, end, w); err != nil {
			return err
		}
	}
	return nil
}

func (u *undumper) endWord(b *draft, end *format.End, w word) (err error) {
	if done, err := b.setWord(u.voc, w); done {
		return err
	}
	if w.key == "footer" {
		b.footer, err = parseFooter(w.value)
		return err
	}
	b.give(protoreflect.Name(w.key))
	return u.voc.setField(end.ProtoReflect(), w)
}

// parseFooter reads none, or the footer's three distances.
func parseFooter(s string) (footerWord, error) {
	if s == "none" {
		return footerWord{none: true}, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) != 3 {
		return footerWord{}, fmt.Errorf("footer=%s: write none, or the distances to section, index and end", spell.Clip(s))
	}
	var distances [3]uint64
	for i, part := range parts {
		var err error
		if distances[i], err = spell.ParseUint(part, 64); err != nil {
			return footerWord{}, fmt.Errorf("footer: %w", err)
		}
	}
	return footerWord{given: &format.Footer{Section: distances[0], Index: distances[1], End: distances[2]}}, nil
}

// payload adds bytes to the end of the block's payload.
func (u *undumper) payload(words []word) error {
	if u.block == nil {
		return errors.New("payload stands outside of a block")
	}
	for _, w := range words {
		more, err := spell.ParseHex(w.key)
		if err == nil {
			err = u.block.grow(len(more))
		}
		if err != nil {
			return err
		}
		u.block.extra = append(u.block.extra, more...)
	}
	return nil
}

// raw writes bytes between blocks.
func (u *undumper) raw(words []word) error {
	if err := u.finish(); err != nil {
		return err
	}
	for _, w := range words {
		garbage, err := spell.ParseHex(w.key)
		if err != nil {
			return err
		}
		if err := u.out.write(garbage); err != nil {
			return err
		}
	}
	return nil
}

// cut takes bytes off the end of what has been written.
func (u *undumper) cut(words []word) error {
	if len(words) != 1 || words[0].valued {
		return errors.New("write cut and the number of bytes to take off the end")
	}
	n, err := spell.ParseUint(words[0].key, 32)
	if err != nil {
		return fmt.Errorf("cut: %w", err)
	}
	if err := u.finish(); err != nil {
		return err
	}
	return u.out.cut(int(n))
}

// finish writes the block under construction.
func (u *undumper) finish() error {
	if u.block == nil {
		return nil
	}
	b := u.block
	u.block = nil
	return u.out.add(b)
}

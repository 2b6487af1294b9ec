package html

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/printable"
)

// pageTables has the sizes of the packed tables, so that the page allocates once.
type pageTables struct {
	Bytes     int   `json:"bytes"`
	Names     int   `json:"names"` // without number 0, the root of the graph
	Modules   int   `json:"modules"`
	Symbols   int   `json:"symbols"`
	Nodes     int   `json:"nodes"`
	Labels    int   `json:"labels"`
	CPUs      int   `json:"cpus"`
	Cgroups   bool  `json:"cgroups"` // of some threads they are known
	Wakes     int   `json:"wakes"`
	Kinds     int   `json:"kinds"`
	Threads   int   `json:"threads"`
	Cells     int   `json:"cells"`
	SlotTimes int   `json:"slotTimes"`
	Samples   int   `json:"sampleSlots"` // slots of cells that have samples
	Longest   int64 `json:"longest"`     // of the SlotTimes, ns

	NotSampled uint32 `json:"notSampled"` // the stack

	// Numbers of the notes about wakers.
	WakerMark    uint32 `json:"wakerMark"`
	NotWoken     uint32 `json:"notWoken"`
	UnknownWaker uint32 `json:"unknownWaker"`
	// Idle is the number of the name of the frame with waits for work.
	Idle uint32 `json:"idle"`
}

// writeTables packs the profile into script elements of a type that browsers do not run: varints in columns, deflated, in base64.
// packed.js and profile.js read them.
func writeTables(w io.Writer, p *profile.Profile, v *graph.View, only func(*profile.Thread) bool) (pageTables, error) {
	u := usedBy(p, v, only)
	names := u.names()
	trie := u.trie(names)
	scripts := &scriptWriter{w: w}
	packer, err := flate.NewWriter(scripts, packLevel)
	if err != nil {
		return pageTables{}, err
	}
	e := &pageEncoder{use: u, names: names, trie: trie, out: packer}
	e.encodeNames()
	e.encodeTrie()
	e.encodeLabels()
	e.encodeWakes()
	e.encodeKinds()
	for _, t := range u.threads {
		e.encodeThread(t)
	}
	e.flush()
	if e.err == nil {
		e.err = packer.Close()
	}
	if e.err == nil {
		e.err = scripts.flush()
	}
	return e.tables, e.err
}

// packLevel is the compression level of names and times: 9 takes twice as long, for 2% less.
const packLevel = 6

// pageEncoder packs the tables of a page.
type pageEncoder struct {
	use    *pageUse
	names  *pageNames
	trie   *pageTrie
	tables pageTables
	labels []uint32 // number in the page, by LabelID
	wakes  []uint32 // the same, by WakeID
	kinds  map[timeKind]uint32

	order []int32 // of a thread's cells; reused
	cells []pageCell

	out io.Writer
	buf []byte
	err error
}

// packAhead is the number of bytes that are packed at a time.
const packAhead = 64 << 10

func (e *pageEncoder) number(n uint64) {
	e.buf = binary.AppendUvarint(e.buf, n)
	if len(e.buf) >= packAhead {
		e.flush()
	}
}

// signed writes a number that may be negative.
func (e *pageEncoder) signed(n int64) { e.number(uint64(n)<<1 ^ uint64(n>>63)) }

func (e *pageEncoder) text(s string) {
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *pageEncoder) flush() {
	if e.err == nil {
		_, e.err = e.out.Write(e.buf)
	}
	e.tables.Bytes += len(e.buf)
	e.buf = e.buf[:0]
}

// encodeNames writes for each name the length of the prefix shared with the name before it, and the rest.
func (e *pageEncoder) encodeNames() {
	e.tables.Names = len(e.names.list)
	before := ""
	for _, n := range e.names.list {
		text := printable.Text(n.text)
		shared := 0
		for shared < min(len(before), len(text)) && before[shared] == text[shared] {
			shared++
		}
		e.number(uint64(shared))
		e.text(text[shared:])
		e.number(uint64(n.kind))
		before = text
	}
	e.tables.WakerMark = e.names.of(graph.WakerMark, graph.KindNote)
	e.tables.NotWoken = e.names.of(graph.NotWoken, graph.KindNote)
	e.tables.Idle = e.names.of(graph.IdleRoot(), graph.KindNote)
	e.tables.UnknownWaker = e.names.of(graph.UnknownWaker, graph.KindNote)
}

func (e *pageEncoder) encodeTrie() {
	t := e.trie
	e.tables.NotSampled = t.at[e.use.p.NotSampled]
	e.tables.Modules, e.tables.Symbols, e.tables.Nodes = len(t.modules), len(t.symbols), len(t.nodes)
	for _, m := range t.modules {
		e.text(printable.Text(m))
	}
	for _, s := range t.symbols {
		e.number(uint64(s.name))
		e.number(uint64(s.module))
	}
	for i, n := range t.nodes[1:] {
		e.number(uint64(i + 1 - int(n.parent)))
	}
	for _, n := range t.nodes[1:] {
		e.number(uint64(n.symbol))
	}
}

// labelRoots are the root frames whose names are in the page for each label.
func labelRoots() []graph.Root {
	return []graph.Root{graph.ByProcess, graph.ByThread, graph.ByComm, graph.ByCgroup, graph.ByContainer}
}

func (e *pageEncoder) encodeLabels() {
	e.labels = numbersOf(e.use.labels)
	for i, used := range e.use.labels {
		if !used && i > 0 {
			continue
		}
		e.tables.Labels++
		l := &e.use.p.Labels[i]
		if in := l.Place().Cgroup; in != "" && in != profile.UnknownCgroup {
			e.tables.Cgroups = true
		}
		for _, by := range labelRoots() {
			e.number(uint64(e.names.of(graph.RootName(l, by), graph.KindRoot)))
		}
	}
	e.tables.CPUs = len(e.use.cpus)
	e.number(uint64(e.names.of(graph.CPURoot(profile.NoCPU), graph.KindRoot)))
	for _, cpu := range e.use.cpus {
		e.number(uint64(e.names.of(graph.CPURoot(cpu), graph.KindRoot)))
	}
}

// encodeWakes writes the wakes; one may come before the earlier wake that it refers to.
func (e *pageEncoder) encodeWakes() {
	e.wakes = numbersOf(e.use.wakes)
	e.tables.Wakes = 1
	for i, used := range e.use.wakes {
		if !used || i == 0 {
			continue
		}
		e.tables.Wakes++
		w := &e.use.p.Wakes[i]
		e.number(uint64(e.labels[w.Label]))
		e.number(uint64(e.trie.at[w.Stack]))
		e.number(uint64(e.wakes[w.Before]))
	}
}

// numbersOf numbers the used elements, from 1 on; element 0 has 0.
func numbersOf(used []bool) []uint32 {
	numbers, next := make([]uint32, len(used)), uint32(0)
	for i := 1; i < len(used); i++ {
		if used[i] {
			next++
			numbers[i] = next
		}
	}
	return numbers
}

// timeKind is a class of time with its notes, without reasons and with them, and the names of what threads waited for: of its class and of
// itself.
type timeKind struct {
	class        profile.Class
	plain, state uint32
	wait, object uint32
}

func (e *pageEncoder) kindOf(c *profile.Cell) timeKind {
	k := timeKind{
		class: c.Class,
		plain: e.noteOf(&graph.View{}, c),
		state: e.noteOf(&graph.View{States: true}, c),
		wait:  e.names.of(graph.WaitRoot(c), graph.WaitKind(c)),
	}
	if object := e.use.p.Object(c); object != "" {
		k.object = e.names.of(object, graph.WaitKind(c))
	}
	return k
}

// noteOf returns the number of the note that a view has for a cell.
func (e *pageEncoder) noteOf(v *graph.View, c *profile.Cell) uint32 {
	note := v.Note(c)
	return e.names.of(note, graph.NoteKind(note))
}

func (e *pageEncoder) encodeKinds() {
	e.kinds = make(map[timeKind]uint32)
	var list []timeKind
	for _, t := range e.use.threads {
		for i := range t.Cells {
			k := e.kindOf(&t.Cells[i])
			if _, known := e.kinds[k]; !known {
				e.kinds[k] = uint32(len(list))
				list = append(list, k)
			}
		}
	}
	e.tables.Kinds = len(list)
	for _, k := range list {
		e.number(uint64(k.class))
		e.number(uint64(k.plain))
		e.number(uint64(k.state))
		e.number(uint64(k.wait))
		e.number(uint64(k.object))
	}
}

// pageCell is a Cell, or several that are the same in all views of the page.
type pageCell struct {
	kind, cpu, label, node, wake uint32
	cells                        []int32
}

func (c *pageCell) same(d *pageCell) bool {
	return c.kind == d.kind && c.cpu == d.cpu && c.label == d.label && c.node == d.node && c.wake == d.wake
}

// encodeThread writes a thread and its cells, sorted so that cells of neighbouring stacks are next to each other.
func (e *pageEncoder) encodeThread(t *profile.Thread) {
	e.tables.Threads++
	e.signed(int64(t.TID))
	e.signed(int64(t.PID))
	e.number(uint64(e.labels[t.Label]))
	e.number(uint64(t.Lifetime))
	e.gather(t)
	e.tables.Cells += len(e.cells)
	e.number(uint64(len(e.cells)))
	e.encodeKeys()
	e.encodeTimes(t)
}

// gather sorts the thread's cells and merges those that are the same on the page.
func (e *pageEncoder) gather(t *profile.Thread) {
	all := make([]pageCell, len(t.Cells))
	e.order = e.order[:0]
	for i := range t.Cells {
		c := &t.Cells[i]
		all[i] = pageCell{
			kind: e.kinds[e.kindOf(c)], label: e.labels[c.Label], node: e.trie.at[c.Stack], wake: e.wakes[c.Wake],
		}
		if cpu, found := slices.BinarySearch(e.use.cpus, c.CPU); found {
			all[i].cpu = uint32(cpu + 1)
		}
		e.order = append(e.order, int32(i))
	}
	slices.SortFunc(e.order, func(i, j int32) int {
		a, b := &all[i], &all[j]
		return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.node, b.node), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.wake, b.wake), cmp.Compare(i, j))
	})
	e.cells = e.cells[:0]
	first := 0
	for at, i := range e.order {
		if at > 0 && all[i].same(&all[e.order[first]]) {
			e.cells[len(e.cells)-1].cells = e.order[first : at+1]
			continue
		}
		first = at
		c := all[i]
		c.cells = e.order[at : at+1]
		e.cells = append(e.cells, c)
	}
}

func (e *pageEncoder) encodeKeys() {
	for i := range e.cells {
		e.number(uint64(e.cells[i].kind))
	}
	for i := range e.cells {
		e.number(uint64(e.cells[i].label))
	}
	node := uint32(0)
	for i := range e.cells {
		e.signed(int64(e.cells[i].node) - int64(node))
		node = e.cells[i].node
	}
	if e.tables.CPUs > 0 {
		for i := range e.cells {
			e.number(uint64(e.cells[i].cpu))
		}
	}
	if e.tables.Wakes > 1 {
		for i := range e.cells {
			e.number(uint64(e.cells[i].wake))
		}
	}
}

// encodeTimes writes for each cell its counts, the time that lies in no slot, and the times within slots.
func (e *pageEncoder) encodeTimes(t *profile.Thread) {
	var slots, samples []profile.SlotTime
	for i := range e.cells {
		var count, waits uint64
		var rest int64
		slots = slots[:0]
		for _, j := range e.cells[i].cells {
			c := &t.Cells[j]
			count += c.Count
			waits += c.Waits
			rest += c.Ns
			slots = append(slots, c.Slots...)
		}
		if e.use.p.Slot == 0 {
			slots = slots[:0]
		}
		slots = addedUp(slots, len(e.cells[i].cells) > 1)
		samples = append(samples[:0], slots...)
		slots = slices.DeleteFunc(slots, func(s profile.SlotTime) bool { return s.Ns == 0 })
		for _, s := range slots {
			rest -= s.Ns
		}
		e.number(count)
		e.number(waits)
		e.signed(rest)
		e.encodeSlots(slots)
		if e.use.p.About.Spread && t.Cells[e.cells[i].cells[0]].Class == profile.ClassOnCPU {
			e.encodeSamples(samples)
		}
	}
}

// encodeSamples writes how many samples a cell has in each slot, if on-CPU time is divided among samples.
func (e *pageEncoder) encodeSamples(slots []profile.SlotTime) {
	slots = slices.DeleteFunc(slots, func(s profile.SlotTime) bool { return s.Samples == 0 })
	e.tables.Samples += len(slots)
	e.number(uint64(len(slots)))
	next := uint32(0)
	for _, s := range slots {
		e.number(uint64(s.Slot - next))
		next = s.Slot + 1
	}
	for _, s := range slots {
		e.number(uint64(s.Samples))
	}
}

// encodeSlots writes a full slot as 0, which compresses well: most of the time of most threads is one long wait.
func (e *pageEncoder) encodeSlots(slots []profile.SlotTime) {
	e.tables.SlotTimes += len(slots)
	e.number(uint64(len(slots)))
	next := uint32(0)
	for _, s := range slots {
		e.number(uint64(s.Slot - next))
		next = s.Slot + 1
	}
	for _, s := range slots {
		e.tables.Longest = max(e.tables.Longest, s.Ns)
		if s.Ns == e.use.p.Slot {
			s.Ns = 0
		}
		e.number(uint64(s.Ns))
	}
}

// addedUp merges the slots of several cells.
func addedUp(slots []profile.SlotTime, several bool) []profile.SlotTime {
	if !several {
		return slots
	}
	slices.SortFunc(slots, func(a, b profile.SlotTime) int { return cmp.Compare(a.Slot, b.Slot) })
	kept := slots[:0]
	for _, s := range slots {
		if n := len(kept); n > 0 && kept[n-1].Slot == s.Slot {
			kept[n-1].Ns += s.Ns
			kept[n-1].Samples += s.Samples
		} else {
			kept = append(kept, s)
		}
	}
	return kept
}

// scriptWriter writes bytes in base64 into script elements. There are several, because a browser keeps the text of an
// element as one string, whose length is limited.
type scriptWriter struct {
	w   io.Writer
	buf []byte
}

const scriptBytes = 3 << 20 // size of every element but the last; whole groups of base64

func (s *scriptWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		if s.buf == nil {
			s.buf = make([]byte, 0, scriptBytes)
		}
		part := min(len(b), scriptBytes-len(s.buf))
		s.buf = append(s.buf, b[:part]...)
		b = b[part:]
		if len(s.buf) == scriptBytes {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (s *scriptWriter) flush() error {
	if _, err := io.WriteString(s.w, `<script type="application/octet-stream">`); err != nil {
		return err
	}
	encoder := base64.NewEncoder(base64.StdEncoding, s.w)
	if _, err := encoder.Write(s.buf); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	s.buf = s.buf[:0]
	_, err := io.WriteString(s.w, "</script>\n")
	return err
}

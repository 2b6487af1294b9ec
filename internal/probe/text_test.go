package probe

import "strconv"

// String returns the definition in one spelling of many: [Parse] reads the same from it.
func (d *Definition) String() string {
	var legs wordList
	for i := range d.Legs {
		legs.add(true, "%s", &d.Legs[i])
	}
	text := legs.joined(" ~~ ")
	if settings := d.Settings.String(); settings != "" {
		text += " | " + settings + " |"
	}
	return text
}

// String returns the settings that are given.
func (s *Settings) String() string {
	var words, conditions, by wordList
	for i := range s.If {
		conditions.add(true, "%s", &s.If[i])
	}
	by.addArgs(s.By.Args)
	by.add(s.By.Stack, "stack")
	by.add(s.By.Comm, "comm")
	words.add(s.ID != "", "id:%s", bare(s.ID))
	words.add(s.Name != "", "name:%s", quote(s.Name))
	words.add(s.Sample > 0, "sample:%d", s.Sample)
	words.add(s.Limit > 0, "limit:%d", s.Limit)
	words.add(s.Min > 0, "min:%dns", s.Min)
	words.add(s.NoEntry, "entry:no")
	words.add(len(conditions) > 0, "if:%s", conditions.joined(" && "))
	words.add(s.Key[0] != nil, "key:(arg:%s, arg:%s)", s.Key[0], s.Key[1])
	words.add(s.Count, "count")
	words.add(s.Sum != nil, "sum:arg:%s", s.Sum)
	words.add(s.Hist != nil, "hist:arg:%s", s.Hist)
	words.add(s.HistDuration, "hist:dur")
	words.add(len(by) > 0, "by:(%s)", by.joined(", "))
	return words.joined(", ")
}

// String returns a condition as it is written after if:.
func (c *Condition) String() string {
	value := strconv.FormatInt(c.Number, 10)
	switch {
	case c.IsText:
		value = quote(c.Text)
	case c.Unsigned:
		value = strconv.FormatUint(uint64(c.Number), 10)
	}
	return "arg:" + c.Arg.String() + " " + c.Op.String() + " " + value
}

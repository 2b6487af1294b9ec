package profile

import (
	"strconv"

	"wprof/format"
	"wprof/internal/waits"
)

// ObjectID is the index of what a thread waited for in Profile.Objects; 0: it is not known.
type ObjectID uint32

// waitObject is a wait of the current section and its class.
type waitObject struct {
	wait  format.WaitID
	class waits.Class
}

// Object returns what the thread of a cell waited for; "" if that is not known.
func (p *Profile) Object(c *Cell) string {
	if c.Object == 0 {
		return ""
	}
	return p.Objects[c.Object]
}

// maxObjects bounds what is kept apart; what comes after that has no object.
const maxObjects = 1 << 14

// object returns what a thread waited for.
func (c *collector) object(id format.WaitID, class waits.Class) ObjectID {
	key := waitObject{id, class}
	if known, found := c.objects[key]; found {
		return known
	}
	w := c.r.Wait(id)
	if waits.Object(class, w) == "" {
		c.objects[key] = 0
		return 0
	}
	text := waits.Label(class, w)
	if w.IsFutex {
		text += " of " + strconv.Itoa(int(w.Pid))
	}
	of, found := c.byText[text]
	if !found && len(c.p.Objects) < maxObjects {
		of = ObjectID(len(c.p.Objects))
		c.p.Objects = append(c.p.Objects, text)
		c.byText[text] = of
	}
	c.objects[key] = of
	return of
}

package capture

import "wprof/internal/ringdata"

// operator appends an operator of PyTorch. Its values are the fields in the table of sources.
func (r *pythonRing) operator(o *torchOperator, opened int64) {
	r.textAt = min(r.since, o.End)
	values := []uint64{r.text(o.Name), r.text(o.Shapes), uint64(o.Scope), uint64(o.Sequence), uint64(o.Forward), uint64(o.Self), 0}
	r.typed(ringdata.TypeTorch, span{o.Start, o.End, o.CPU, o.TID, o.open}, values, opened)
}

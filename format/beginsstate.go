package format

// BeginsState reports whether the event that Next returned last begins a state: the running thread of every CPU and every
// live thread that is off-CPU. A state event elsewhere reports one thread only.
func (r *Reader) BeginsState() bool {
	return r.current != nil && !r.held && r.current.Header.Type == BlockEvents &&
		r.current.Header.Flags&BlockState != 0 && r.decoder.left+1 == r.current.Header.Events
}

package format

// Keys of [Session] config under which a recorder says of what, beside samples, it takes stacks; the value is for people.
const (
	ConfigOffCPUStacks = "off-CPU stacks"
	ConfigWakerStacks  = "waker stacks"
)

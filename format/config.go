package format

// Keys of [Session] config for what stacks are taken of besides samples; the value is for display.
const (
	ConfigFeatures     = "features" // groups of kinds, separated by commas
	ConfigOffCPUStacks = "off-CPU stacks"
	ConfigWakerStacks  = "waker stacks"
)

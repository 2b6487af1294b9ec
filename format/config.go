package format

import "slices"

// Keys of [Session] config that programs read; the values are for display, but for those of ConfigFeatures and ConfigScope.
const (
	ConfigFeatures     = "features" // groups of kinds, separated by commas
	ConfigOffCPUStacks = "off-CPU stacks"
	ConfigWakerStacks  = "waker stacks"
	ConfigScope        = "scope"       // ScopeCommand, or another text
	ConfigPMUSamples   = "pmu samples" // events of performance counters that were sampled, with their rates; the key is there only if some were
	ConfigProbes       = "probes"      // definitions of user-defined probes; the key is there only if some were recorded
)

// FeaturePyStacks is one of ConfigFeatures: functions of Python in stacks, perhaps followed by = and of which processes.
const FeaturePyStacks = "py-stacks"

// FeatureRubyStacks is the same for Ruby.
const FeatureRubyStacks = "ruby-stacks"

// ScopeCommand is the scope of a recording of a command, which begins with its exec: until then all threads are hidden.
const ScopeCommand = "the command and its children"

// IsOfCommand reports whether only a command and its children are recorded.
func (x *Session) IsOfCommand() bool {
	return slices.ContainsFunc(x.GetConfig(), func(kv *KeyValue) bool { return kv.GetKey() == ConfigScope && string(kv.GetValue()) == ScopeCommand })
}

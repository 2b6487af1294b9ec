package perfetto

// Perfetto shows stacks of track events since v53, in TrackEvent.callstack_iid. An older engine counts an error for each
// event with a field that it does not know, unless the trace describes the field. A newer one takes the description of
// a field that it has, if the type is the same. All show the number among the event's arguments, where it is as
// harmless as it is useless.

// appendCallstackField appends the description of that field; the engine takes the first one in a trace.
func appendCallstackField(out []byte) []byte {
	const (
		optional   = 1
		uint64Type = 4
	)
	out, packet := beginPacket(out)
	out, descriptor := begin(out, packetExtensions)
	out, set := begin(out, 1)
	out, file := begin(out, 1)
	out = appendString(out, 1, "wprof/callstack.proto")
	out = appendString(out, 2, "perfetto.protos")
	out, field := begin(out, 7)
	out = appendString(out, 1, "callstack_iid")
	out = appendString(out, 2, ".perfetto.protos.TrackEvent")
	out = appendUint(out, 3, eventCallstack)
	out = appendUint(out, 4, optional)
	out = appendUint(out, 5, uint64Type)
	end(out, field)
	end(out, file)
	end(out, set)
	end(out, descriptor)
	end(out, packet)
	return out
}

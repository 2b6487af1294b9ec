package perfetto

// An engine counts an error for each event with a field unknown to it, unless the trace describes the field.
//
// Numbers among an event's arguments are fields of the event, named as if they were debug annotations, for which the
// engine then takes them: 4 bytes instead of 7. Their numbers are the last ones of two bytes that Perfetto leaves to others.
//
// Perfetto shows stacks of track events since v53, in TrackEvent.callstack_iid. An engine that has the field takes its
// description, if the type is the same. Every engine also shows the number among the event's arguments, where it has no
// meaning.

// appendFieldDescriptions appends the descriptions of these fields; the engine takes the first one in a trace.
func appendFieldDescriptions(out []byte, peer bool) []byte {
	out, packet := beginPacket(out)
	out, descriptor := begin(out, packetExtensions)
	out, set := begin(out, 1)
	out, file := begin(out, 1)
	out = appendString(out, 1, "wprof/track_event.proto")
	out = appendString(out, 2, "perfetto.protos")
	out = appendFieldDescription(out, "callstack_iid", eventCallstack, uint64Type)
	for a, name := range annotationNames(peer) {
		switch annotation(a) {
		case 0, annThread, annWaitClass, annWaitFile, annWaitPeer, annFile, annOldName, annNewName, annForkedInto, annForkedFrom, annCgroup, annWaker, annContext, annInterrupt, annState, annStack, annFrom, annTo: // texts
		case annPrio, annTID, annPID, annNSTID, annNSPID:
			out = appendFieldDescription(out, "debug."+name, eventArgument+uint64(a), int64Type)
		default:
			out = appendFieldDescription(out, "debug."+name, eventArgument+uint64(a), uint64Type)
		}
	}
	end(out, file)
	end(out, set)
	end(out, descriptor)
	end(out, packet)
	return out
}

// Types of FieldDescriptorProto.
const (
	int64Type  = 3
	uint64Type = 4
)

func appendFieldDescription(out []byte, name string, number, typ uint64) []byte {
	const optional = 1
	out, field := begin(out, 7)
	out = appendString(out, 1, name)
	out = appendString(out, 2, ".perfetto.protos.TrackEvent")
	out = appendUint(out, 3, number)
	out = appendUint(out, 4, optional)
	out = appendUint(out, 5, typ)
	end(out, field)
	return out
}

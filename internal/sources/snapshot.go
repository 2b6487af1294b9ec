package sources

import "wprof/format"

// Snapshot is the type of the triggers of a flight recorder's snapshots, which the recorder itself writes.
func Snapshot() *format.EventType {
	return instant("snapshot", "", "Snapshots", format.TypeTrack_TRACK_GLOBAL,
		name(Field("condition", format.ValueType_VALUE_TEXT)), Field("reason", format.ValueType_VALUE_STRING), Field("thread", format.ValueType_VALUE_TASK))
}

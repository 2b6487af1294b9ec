package firefox

import (
	"encoding/hex"
	"strings"

	"wprof/internal/records"
)

// maxBuildID bounds the bytes of a build-id; linkers write 20 at most.
const maxBuildID = 64

func hexOf(id []byte) string { return hex.EncodeToString(id) }

// appendLib appends a library of the profile. codeId is the build-id, by which debuginfod finds the file.
func appendLib(b []byte, name, path, arch string, id []byte) []byte {
	b = records.AppendString(append(b, `{"arch":`...), arch)
	b = records.AppendString(append(b, `,"name":`...), name)
	b = records.AppendString(append(b, `,"path":`...), path)
	b = records.AppendString(append(b, `,"debugName":`...), name)
	b = records.AppendString(append(b, `,"debugPath":`...), path)
	b = records.AppendString(append(b, `,"breakpadId":`...), breakpadID(id))
	if len(id) == 0 {
		return append(b, `,"codeId":null}`...)
	}
	return append(records.AppendString(append(b, `,"codeId":`...), hexOf(id)), '}')
}

// breakpadID returns a file's id on Breakpad symbol servers: the first 16 bytes of its build-id as a little-endian GUID, and
// an age, which is 0 for ELF files.
func breakpadID(id []byte) string {
	var guid [16]byte
	copy(guid[:], id)
	guid[0], guid[1], guid[2], guid[3] = guid[3], guid[2], guid[1], guid[0]
	guid[4], guid[5] = guid[5], guid[4]
	guid[6], guid[7] = guid[7], guid[6]
	return strings.ToUpper(hexOf(guid[:])) + "0"
}

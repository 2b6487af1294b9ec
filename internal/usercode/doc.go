// Package usercode finds what can be probed in an ELF file of x86-64 or arm64: functions, static probes (USDT), source lines. It finds
// the arguments and variables there too, and how a kernel program reads them, as plans of package probe. Places are offsets in the file,
// as uprobes want them.
//
// All input is untrusted: every length is checked before it is used, what is kept is bounded, and a malformed file gives an error.
package usercode

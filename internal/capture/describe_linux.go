package capture

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/probe"
	"wprof/internal/proc"
	"wprof/internal/sources"
	"wprof/internal/tracepoint"
)

// describe returns the description of the session: the machine, the command line and the settings. The window's times are
// not known yet, nor are its clocks.
func describe(cfg *Config, host proc.Host) (*format.Session, error) {
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return nil, err
	}
	var id [8]byte
	// crypto/rand.Read never fails: it ends the program instead.
	_, _ = rand.Read(id[:])
	return &format.Session{
		Id:            binary.LittleEndian.Uint64(id[:]),
		Host:          valid(host.Name),
		BootId:        host.BootID,
		KernelRelease: host.Release,
		KernelVersion: host.Version,
		Machine:       host.Machine,
		Cpus:          cpus,
		Caches:        proc.ReadTopology("/sys", cpus),
		Command:       validWords(cfg.CommandLine),
		Config:        resolved(cfg),
		Counters:      cfg.Counters,
		Metadata:      cfg.Metadata,
		Version:       cli.Version(),
		RecorderPid:   uint32(os.Getpid()),
		Prepare:       cfg.Schedule.Prepare.Text,
		Activate:      cfg.Schedule.Activate.Text,
	}, nil
}

// valid makes a word fit for a message, whose strings are UTF-8; words of a command line can be anything.
func valid(word string) string { return strings.ToValidUTF8(word, "\uFFFD") }

func validWords(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = valid(word)
	}
	return all
}

// resolved returns the settings after flags and defaults.
func resolved(cfg *Config) []*format.KeyValue {
	duration := "until stopped"
	if cfg.Duration > 0 {
		duration = cfg.Duration.String()
	} else if len(cfg.Command) > 0 {
		duration = "until the command ends"
	}
	features := append(groupNames(cfg.groups()), cfg.Kernel.Sources.Features()...)
	for _, feature := range [...]string{pythonFeature, rubyFeature} {
		if p := cfg.interpretedBy(feature); p.On {
			features = append(features, p.word(feature))
		}
	}
	if len(cfg.Tracepoints) > 0 {
		features = append(features, tracepoint.Feature+"="+valid(strings.Join(cfg.Tracepoints, ",")))
	}
	config := []*format.KeyValue{
		{Key: "duration", Value: duration},
		{Key: format.ConfigFeatures, Value: strings.Join(features, ",")},
		{Key: "rings", Value: fmt.Sprintf("%d of %s", cfg.Kernel.Rings, sizeFlag(cfg.Kernel.RingBytes))},
		{Key: "live", Value: strconv.FormatBool(cfg.Live)},
	}
	if cfg.Flight != nil {
		config = append(config, &format.KeyValue{Key: "flight recorder", Value: cfg.Flight.String()})
	}
	if len(cfg.Calls) > 0 && cfg.Kernel.Sources&sources.Of(sources.Calls) != 0 {
		config = append(config, &format.KeyValue{Key: "system calls", Value: strings.Join(cfg.Calls, ",")})
	}
	if len(cfg.Probes) > 0 {
		config = append(config, &format.KeyValue{Key: format.ConfigProbes, Value: definitions(cfg.Probes)})
	}
	if cfg.Stacks.Timer > 0 {
		config = append(config, &format.KeyValue{Key: "samples", Value: cfg.Stacks.samples()})
	}
	if len(cfg.Kernel.PMU) > 0 {
		config = append(config, &format.KeyValue{Key: format.ConfigPMUSamples, Value: cfg.pmuSamples()})
	}
	if cfg.Stacks.OffCPU {
		config = append(config, &format.KeyValue{Key: format.ConfigOffCPUStacks, Value: fmt.Sprintf("from %s, %s", cfg.OffCPUMin, cfg.Stacks.parts())})
	}
	if cfg.Stacks.Waker {
		config = append(config, &format.KeyValue{Key: format.ConfigWakerStacks, Value: cfg.Stacks.parts()})
	}
	if cfg.Kernel.Unwind.Tables {
		config = append(config, &format.KeyValue{Key: "unwinding", Value: "user stacks by tables"})
	}
	if len(cfg.Command) > 0 && !cfg.All {
		config = append(config, &format.KeyValue{Key: format.ConfigScope, Value: format.ScopeCommand})
	} else {
		config = append(config, &format.KeyValue{Key: format.ConfigScope, Value: "the whole system"})
	}
	return config
}

// maxDefinitions bounds the definitions of probes in the header, which event types have in full.
const maxDefinitions = 4 << 10

// definitions returns the text of probes, one a line.
func definitions(all []*probe.Definition) string {
	var lines []string
	for _, d := range all {
		lines = append(lines, d.Text)
	}
	text := strings.Join(lines, "\n")
	return valid(text[:min(len(text), maxDefinitions)])
}

func groupNames(on format.Group) (names []string) {
	for _, g := range format.Groups() {
		if on&g.Group != 0 {
			names = append(names, g.Name)
		}
	}
	return names
}

package symbolize

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"wprof/internal/cli"
	"wprof/internal/debuginfod"
	"wprof/internal/symbol"
)

// noServers is the value of --debuginfod without which $DEBUGINFOD_URLS is used.
const noServers = "no"

// CheckServer checks a value of --debuginfod.
func CheckServer(value string) error {
	if value == noServers {
		return nil
	}
	return debuginfod.CheckURL(value)
}

// servers returns the client of the debuginfod servers that are given; nil: none are.
func servers(inv *cli.Invocation) (*debuginfod.Client, error) {
	given := inv.Strings("debuginfod")
	if len(given) > 1 && slices.Contains(given, noServers) {
		return nil, cli.Usagef("--debuginfod no excludes servers")
	}
	if len(given) == 1 && given[0] == noServers {
		return nil, nil
	}
	config, ignored := debuginfod.FromEnvironment(os.Getenv)
	for _, err := range ignored {
		inv.Warnf("it is ignored: %v", err)
	}
	if len(given) > 0 {
		config.Servers = given
	}
	if len(config.Servers) == 0 {
		return nil, nil
	}
	client := debuginfod.New(config)
	client.Warn = func(text string) { inv.Warnf("%s", text) }
	client.Verify = verifyBuildID
	inv.OnAbort(client.Abort)
	return client, nil
}

// fetchFrom returns the source of a resolver that asks servers.
func fetchFrom(ctx context.Context, client *debuginfod.Client) func(buildID []byte, debug bool) (io.ReaderAt, int64, func(), error) {
	return func(buildID []byte, debug bool) (io.ReaderAt, int64, func(), error) {
		kind := debuginfod.Executable
		if debug {
			kind = debuginfod.DebugInfo
		}
		f, err := client.Fetch(ctx, buildID, kind)
		if err != nil {
			return nil, 0, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, 0, nil, err
		}
		return f, info.Size(), func() { f.Close() }, nil
	}
}

var errNotIt = errors.New("its build-id differs")

// verifyBuildID checks a file that a server sent.
func verifyBuildID(file *os.File, buildID []byte) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f, err := symbol.Open(file, info.Size())
	if err != nil {
		return err
	}
	if string(f.BuildID()) != string(buildID) {
		return errNotIt
	}
	return nil
}

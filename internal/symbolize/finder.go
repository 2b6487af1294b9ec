package symbolize

import (
	"context"

	"wprof/internal/cli"
	"wprof/internal/debuginfod"
	"wprof/internal/symbol"
	"wprof/internal/symbolarchive"
)

// finder is a resolver with the sources of names that the flags give.
type finder struct {
	*symbol.Resolver
	inv     *cli.Invocation
	servers *debuginfod.Client // may be nil
	cancel  context.CancelFunc

	absent absent

	archives      []*symbolarchive.Archive
	closeArchives func()
}

// newFinder adds the sources that streams and spools share.
func newFinder(inv *cli.Invocation, o symbol.Options) (*finder, error) {
	client, err := servers(inv)
	if err != nil {
		return nil, err
	}
	archives, closeArchives, err := openArchives(inv)
	if err != nil {
		return nil, err
	}
	o.Functions, o.Lines = functionsIn(archives), linesIn(archives)
	ctx, cancel := context.WithCancel(context.Background())
	if client != nil {
		o.Fetch, o.FetchKernel = fetchFrom(ctx, client), inv.IsSet("debuginfod")
		go func() { // the first signal ends a download
			select {
			case <-inv.Stopped():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return &finder{Resolver: symbol.NewResolver(o), inv: inv, servers: client, cancel: cancel, archives: archives, closeArchives: closeArchives}, nil
}

// Close releases its resources.
func (r *finder) Close() {
	r.cancel()
	r.Resolver.Close()
	r.closeArchives()
}

// report prints what is known when all names have been looked up.
func (r *finder) report() {
	for _, text := range []string{r.MapsCut(), r.Differing()} {
		if text != "" {
			r.inv.Warnf("%s", text)
		}
	}
	for _, a := range r.archives {
		if err := a.Problem(); err != nil {
			r.inv.Warnf("read %s: %v", a.Name, err)
		}
	}
	// What an archive lacks had no symbols where it was made, which was reported there.
	if text := r.absent.warning(); text != "" && len(r.archives) == 0 {
		r.inv.Warnf("%s", text)
	}
	if r.servers != nil && r.inv.Bool("verbose") {
		r.inv.Warnf("files from debuginfod servers: %d, %d bytes", r.servers.Downloads, r.servers.Bytes)
	}
}

package daemon

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/internal/settings"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// pages is the console with the jobs that it shows, which a reload replaces.
type pages struct {
	console  *console.Console
	registry atomic.Pointer[jobs.Registry]
}

// newPages makes the console of the configured server. Every token file must hold a token.
func newPages(store lease.Store, cfg settings.Server, registry *jobs.Registry, logger *slog.Logger) (*pages, error) {
	p := new(pages)
	p.registry.Store(registry)
	options := []console.Option{console.WithJobs(func() []*jobs.Job { return p.registry.Load().All() }), console.WithLogger(logger)}
	if len(cfg.Tokens) > 0 {
		options = append(options, console.WithTokens(tokens(cfg.Tokens)...))
	}
	if cfg.ReadOnly {
		options = append(options, console.WithReadOnly())
	}
	var err error
	if p.console, err = console.New(store, options...); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	return p, nil
}

func tokens(list []settings.Token) []console.Token {
	made := make([]console.Token, len(list))
	for i, t := range list {
		made[i] = console.Token{Name: t.Name, Role: console.Role(t.Role), Value: t.Value.Reveal(), File: t.File}
	}
	return made
}

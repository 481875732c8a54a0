package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// pages is the console with the jobs that it shows, which a reload replaces.
type pages struct {
	console  *console.Console
	registry atomic.Pointer[jobs.Registry]
}

// newPages makes the console of the configured server. Every token file must hold a token. examine
// checks the store and the fleet; nil where nothing does.
func newPages(store lease.Store, cfg config.Server, registry *jobs.Registry, logger *slog.Logger, examine examiner) (*pages, error) {
	p := new(pages)
	p.registry.Store(registry)
	options := []console.Option{console.WithJobs(func() []*jobs.Job { return p.registry.Load().All() }), console.WithLogger(logger)}
	if len(cfg.Tokens) > 0 {
		options = append(options, console.WithTokens(tokens(cfg.Tokens)...))
	}
	if cfg.ReadOnly {
		options = append(options, console.WithReadOnly())
	}
	if examine != nil {
		options = append(options, console.WithExamination(func(ctx context.Context) (console.Examination, error) {
			return examine(ctx, p.registry.Load().All()), nil
		}))
	}
	var err error
	if p.console, err = console.New(store, options...); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	return p, nil
}

// examiner checks the store and the fleet.
type examiner func(ctx context.Context, configured []*jobs.Job) console.Examination

// doctorOf returns what checks a store; nil of one in this process.
func doctorOf(s *stores.Store, cfg *config.Config) examiner {
	if s.InMemory() {
		return nil
	}
	return func(ctx context.Context, configured []*jobs.Job) console.Examination {
		report := doctor.Watch(ctx, s, cfg, configured)
		x := console.Examination{Store: report.Store}
		for _, f := range report.Checks {
			x.Findings = append(x.Findings, console.Finding{Check: f.Check, Server: f.Server, Result: string(f.Result), Finding: f.Finding, Change: f.Change})
		}
		return x
	}
}

func tokens(list []config.Token) []console.Token {
	made := make([]console.Token, len(list))
	for i, t := range list {
		made[i] = console.Token{Name: t.Name, Role: console.Role(t.Role), Value: t.Value.Reveal(), File: t.File}
	}
	return made
}

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
)

const (
	// startTimeout is how long a start waits to learn whether this Redis can be used at all.
	startTimeout = time.Second

	// checkTimeout is the timeout of all checks at the start. Nothing waits for them.
	checkTimeout = 20 * time.Second

	// recheckInterval is the time between two checks of a store that does not answer.
	recheckInterval = time.Second
)

// checkStoreAtStart warns of a store that coordinates one process only. Of another one, it waits
// until it answers, and logs each finding of doctor that fails or warns, once.
//
// It returns nil after that, or when ctx ends. It returns an error when no replica can run with
// this configuration. It calls unreachable once when the first call fails: the scheduler has an
// event for that.
func checkStoreAtStart(ctx context.Context, s *stores.Store, cfg *config.Config, logger *slog.Logger, unreachable func()) error {
	if s.InMemory() {
		logger.Warn("the store is in this process only: another worker runs the same ticks again, and a restart forgets them",
			slog.String("hint", "remove store.url memory: from the configuration to keep them in a file beside it"))
		return nil
	}
	logged := map[string]bool{}
	for first := true; ; first = false {
		err := storeAnswers(ctx, s)
		answers := err == nil
		found := checkStore(ctx, s, cfg)
		if s.Checker != nil && ctx.Err() == nil {
			fault, _ := errors.AsType[*protocol.CheckError](s.Checker.Check(ctx))
			if fault != nil && errors.Is(fault.Err, protocol.ErrPermanent) {
				return s.Explain(fault.Err)
			}
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is no fault
		}
		for _, f := range found {
			if f.Fatal != nil {
				return f.Fatal
			}
		}
		if errors.Is(err, protocol.ErrPermanent) {
			return s.Explain(err)
		}
		if answers {
			logFindings(logger, s.Connection != nil, unlogged(found, logged))
			return nil
		}
		if first {
			if found[0].Check != "reachable" || found[0].Result != doctor.Fail { // the server answers, but refuses what a replica calls
				logFindings(logger, s.Connection != nil, unlogged(slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Result != doctor.Fail }), logged))
			}
			unreachable()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(recheckInterval):
		}
	}
}

func storeAnswers(ctx context.Context, s *stores.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _, err := s.Time(ctx)
	return err
}

func checkStore(ctx context.Context, s *stores.Store, cfg *config.Config) []doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return doctor.CheckStore(ctx, s, cfg)
}

// unlogged returns the findings that are not in logged, and adds them to it.
func unlogged(found []doctor.Finding, logged map[string]bool) (rest []doctor.Finding) {
	for _, f := range found {
		if key := f.Check + " " + f.Server; !logged[key] {
			logged[key] = true
			rest = append(rest, f)
		}
	}
	return rest
}

// logFindings logs the findings about a store that fail or warn. It logs equal findings of several
// servers once, with all servers.
func logFindings(logger *slog.Logger, onRedis bool, found []doctor.Finding) {
	var unchecked []string
	change := ""
	for i, f := range found {
		same := func(g doctor.Finding) bool {
			return g.Check == f.Check && g.Result == f.Result && g.Finding == f.Finding && g.Change == f.Change
		}
		if slices.ContainsFunc(found[:i], same) {
			continue
		}
		switch f.Result {
		case doctor.Fail, doctor.Warn:
			attrs := []any{slog.String("check", f.Check), slog.String("result", string(f.Result)), slog.String("finding", f.Finding),
				slog.String("change", f.Change)}
			if f.Server != "" {
				var servers []string
				for _, g := range found[i:] {
					if same(g) {
						servers = append(servers, g.Server)
					}
				}
				attrs = append(attrs, slog.Any("servers", servers))
			}
			if onRedis {
				logger.Warn("Redis is not as it should be", attrs...)
				continue
			}
			logger.Warn("the store is not as it should be", attrs...)
		case doctor.Unchecked:
			if f.Change != "" {
				change = f.Change
			}
			if !slices.Contains(unchecked, f.Check) {
				unchecked = append(unchecked, f.Check)
			}
		case doctor.OK:
		}
	}
	if len(unchecked) > 0 {
		logger.Info("some checks of the store were not possible", slog.Any("checks", unchecked), slog.String("change", change))
	}
}

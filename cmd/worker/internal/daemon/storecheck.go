package daemon

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
)

const (
	// startTimeout is for how long a start waits for the answer whether this Redis can be used at all.
	startTimeout = time.Second

	// checkTimeout is for how long all checks at the start may take. Nothing waits for them.
	checkTimeout = 20 * time.Second

	// recheckInterval is when a store that has not answered is tried again.
	recheckInterval = time.Second
)

// checkStoreAtStart logs what there is to know about the store at the start: that it coordinates nothing, and, once it has answered,
// everything that doctor would fail or warn of, each once. It returns when it has, or ctx has ended. The error
// says that a replica cannot work with this store whatever happens next. away is called when the store does not answer, which
// is an event of the scheduler's.
func checkStoreAtStart(ctx context.Context, s *stores.Store, cfg *config.Config, logger *slog.Logger, away func()) error {
	if s.Connection == nil {
		logger.Warn("no Redis is configured, so ticks are coordinated within this process only: another worker would run "+
			"the same ticks again, and a restart forgets them",
			slog.String("hint", "set redis.url in the configuration, or --redis redis://HOST:6379/0"))
		return nil
	}
	said := map[string]bool{}
	for first := true; ; first = false {
		answers := storeAnswers(ctx, s)
		found := checkStore(ctx, s, cfg)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that ctx has ended is no fault
		}
		for _, f := range found {
			if f.Fatal != nil {
				return f.Fatal
			}
		}
		if answers {
			logFindings(logger, unsaid(found, said))
			return nil
		}
		if first {
			if found[0].Check != "reachable" || found[0].Result != doctor.Fail { // a server that answers, but not to this
				logFindings(logger, unsaid(slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Result != doctor.Fail }), said))
			}
			away()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(recheckInterval):
		}
	}
}

func storeAnswers(ctx context.Context, s *stores.Store) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _, err := s.Time(ctx)
	return err == nil
}

func checkStore(ctx context.Context, s *stores.Store, cfg *config.Config) []doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return doctor.CheckServers(ctx, s, cfg)
}

// unsaid are the findings that said does not list, which it does from then on.
func unsaid(found []doctor.Finding, said map[string]bool) (rest []doctor.Finding) {
	for _, f := range found {
		if key := f.Check + " " + f.Server; !said[key] {
			said[key] = true
			rest = append(rest, f)
		}
	}
	return rest
}

// logFindings logs what fails or may fail, each once for all servers that it is true of.
func logFindings(logger *slog.Logger, found []doctor.Finding) {
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
			logger.Warn("Redis is not as it should be", attrs...)
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
		logger.Info("Redis could not be checked in all respects", slog.Any("checks", unchecked), slog.String("change", change))
	}
}

// Package doctor checks the Redis and the fleet that a configuration names, and says what to change.
package doctor

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// Finding is what doctor has found out about one thing.
type Finding struct {
	Check   string `json:"check"`
	Server  string `json:"server,omitempty"` // which it is about, where there are several
	Result  Result `json:"result"`
	Finding string `json:"finding"`
	Change  string `json:"change"` // what to do about it; empty when there is nothing to do

	Fatal error `json:"-"` // why a replica cannot work at all; nil when it can
}

// Result is how a check has ended.
type Result string

const (
	OK        Result = "ok"
	Warn      Result = "warn"      // it works, and may not in trouble
	Fail      Result = "fail"      // it does not work, or will lose ticks
	Unchecked Result = "unchecked" // the user of redis may not ask
)

// Report is what doctor prints as JSON.
type Report struct {
	Redis     string    `json:"redis"`
	Namespace string    `json:"namespace"`
	OK        bool      `json:"ok"` // nothing has failed
	Checks    []Finding `json:"checks"`
}

const examineTimeout = 30 * time.Second

// Examine opens the store that cfg names and does every check that makes sense.
func Examine(ctx context.Context, cfg *config.Config, configured []*jobs.Job) (Report, error) {
	plain := *cfg // the calls that it tries must work without what failovers need
	plain.Redis.WaitReplicas, plain.Redis.FailoverGrace = 0, 0
	s, err := stores.Open(&plain, stores.CommandTimeout, slog.New(slog.DiscardHandler), func(int) {})
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	x := Report{Redis: s.Addr, Namespace: cfg.Namespace}
	x.Checks = CheckServers(ctx, s, cfg)
	if answers(x.Checks) {
		x.Checks = append(x.Checks, newServer(s, cfg, s.Streams, "").permissions(ctx)...)
		x.Checks = append(x.Checks, checkFleet(ctx, s, configured)...)
	}
	x.OK = x.Failed() == 0
	return x, nil
}

// answers reports whether enough was found for the store to be tried.
func answers(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Check == "clock" })
}

// Failed returns the number of checks that failed.
func (x Report) Failed() int {
	n := 0
	for _, f := range x.Checks {
		if f.Result == Fail {
			n++
		}
	}
	return n
}

// Package doctor checks the store and the fleet that a configuration names, and says what to
// change.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	Server  string `json:"server,omitempty"` // its address, where there are several
	Result  Result `json:"result"`
	Finding string `json:"finding"`
	Change  string `json:"change"` // what to do; empty when nothing is wrong

	Fatal error `json:"-"` // not nil where no replica can run
}

// Result is how a check ended.
type Result string

// The results.
const (
	OK        Result = "ok"
	Warn      Result = "warn"      // it works, but can fail or lose data when something breaks
	Fail      Result = "fail"      // it does not work, or loses ticks
	Unchecked Result = "unchecked" // the Redis user has no permission to ask
)

// Report has the results of all checks. Its JSON is the output of doctor.
type Report struct {
	Redis     string    `json:"redis,omitempty"` // its address; empty for another store
	Store     string    `json:"store"`           // the address of the server, or the path of a file
	Namespace string    `json:"namespace"`
	OK        bool      `json:"ok"` // no check failed
	Checks    []Finding `json:"checks"`
}

// unchecked is the finding of a check that could not be made.
func unchecked(check string, err error) Finding {
	return Finding{Check: check, Result: Unchecked, Finding: fmt.Sprintf("could not be checked: %v", err)}
}

// failed is the finding of a check that the store answers with an error.
func failed(check string, s *stores.Store, err error) Finding {
	return Finding{Check: check, Result: Fail, Finding: err.Error(), Change: s.Advice(err)}
}

const examineTimeout = 30 * time.Second

// Examine checks the store that cfg names, and its fleet. It opens a connection of its own and
// takes at most 30 s.
func Examine(ctx context.Context, cfg *config.Config, configured []*jobs.Job) (Report, error) {
	plain := *cfg // calls must work without what failovers need: failover checks that
	plain.Redis.WaitReplicas, plain.Redis.FailoverGrace = 0, 0
	s, err := stores.Ask(&plain)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	exists, err := begun(ctx, s)
	switch {
	case s.Streams == nil && (err != nil || !exists):
		return unbegun(ctx, s, cfg, err), nil
	case err == nil && !exists:
		defer forget(ctx, s, cfg.Namespace)
	case err != nil: // it may not answer at all: that is said within 5 s
		ctx, cancel = context.WithTimeout(ctx, 3500*time.Millisecond)
		defer cancel()
	}
	x := newReport(ctx, s, cfg)
	if storeAnswers(x.Checks) {
		if s.Connection != nil {
			x.Checks = append(x.Checks, newServer(s, cfg, s.Streams, "").permissions(ctx)...)
		} else {
			x.Checks = append(x.Checks, CheckWrites(ctx, s))
		}
		x.Checks = append(x.Checks, checkFleet(ctx, s, configured)...)
		x.Checks = append(x.Checks, kept(ctx, s, configured))
		x.Checks = append(x.Checks, notified(ctx, s, cfg)...)
	}
	x.OK = x.Failed() == 0
	return x, nil
}

// begun reports whether anything has run in the namespace. What keeps Redis from answering is for
// its own checks to say, which have their own time for it.
func begun(ctx context.Context, s *stores.Store) (bool, error) {
	if s.Connection != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	return s.Exists(ctx)
}

// unbegun reports on a store that no worker has used, or that does not answer. It creates nothing in
// the store.
func unbegun(ctx context.Context, s *stores.Store, cfg *config.Config, err error) Report {
	x := Report{Store: s.Addr, Namespace: cfg.Namespace}
	switch {
	case err != nil:
		x.Checks = []Finding{failed("reachable", s, err)}
	case s.Nodes != nil:
		nodes, _ := checkNodes(ctx, s, cfg)
		x.Redis, x.Checks = s.Addr, nodes.findings()
	default:
		x.Checks = append([]Finding{{Check: "reachable", Result: OK, Finding: s.Addr + " answers"}}, checkSettings(ctx, s, false)...)
	}
	if err == nil {
		x.Checks = append(x.Checks, Finding{Check: "records", Result: OK, Finding: fmt.Sprintf("nothing has run in namespace %q yet", cfg.Namespace),
			Change: "start a worker, which makes what it needs; then doctor checks what its user may do"})
	}
	x.OK = x.Failed() == 0
	return x
}

// forget removes what the checks of permissions have left in a namespace in which nothing had run,
// unless a worker has started there meanwhile.
func forget(ctx context.Context, s *stores.Store, namespace string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if list, err := s.Store.Members(ctx); err == nil && len(list) == 0 {
		key := "solotick:{" + namespace + "}" // as package redislease says
		_ = s.Streams.Unlink(ctx, key, key+":triggered").Err()
	}
}

// newReport makes a report of the store itself.
func newReport(ctx context.Context, s *stores.Store, cfg *config.Config) Report {
	x := Report{Store: s.Addr, Namespace: cfg.Namespace, Checks: CheckStore(ctx, s, cfg)}
	if s.Connection != nil {
		x.Redis = s.Addr
	}
	return x
}

// Watch checks what Examine does, through the connection of a replica that runs, except
// permissions. They need calls that change the store, and the replica makes these anyway.
func Watch(ctx context.Context, s *stores.Store, cfg *config.Config, configured []*jobs.Job) Report {
	x := newReport(ctx, s, cfg)
	if storeAnswers(x.Checks) {
		x.Checks = append(append(x.Checks, checkFleet(ctx, s, configured)...), kept(ctx, s, configured))
	}
	x.OK = x.Failed() == 0
	return x
}

// storeAnswers reports whether the servers answer well enough to call the store.
func storeAnswers(found []Finding) bool {
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

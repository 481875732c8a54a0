// Package doctor checks the Redis and the fleet that a configuration names, and says what to change.
package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// finding is what doctor has found out about one thing.
type finding struct {
	Check   string `json:"check"`
	Server  string `json:"server,omitempty"` // which it is about, where there are several
	Result  grade  `json:"result"`
	Finding string `json:"finding"`
	Change  string `json:"change"` // what to do about it; empty when there is nothing to do

	refused error // why a replica cannot work at all; nil when it can
}

// grade is how a check has ended.
type grade string

const (
	isOK      grade = "ok"
	isWarn    grade = "warn"      // it works, and may not in trouble
	isFail    grade = "fail"      // it does not work, or will lose ticks
	isUnknown grade = "unchecked" // the user of redis may not ask
)

// examination is what doctor prints as JSON.
type examination struct {
	Redis     string    `json:"redis"`
	Namespace string    `json:"namespace"`
	OK        bool      `json:"ok"` // nothing has failed
	Checks    []finding `json:"checks"`
}

const longestExamination = 30 * time.Second

// examine opens the store that cfg names and does every check that makes sense.
func examine(ctx context.Context, cfg *config.Config, configured []*jobs.Job) (examination, error) {
	plain := *cfg // the calls that it tries must work without what failovers need
	plain.Redis.WaitReplicas, plain.Redis.FailoverGrace = 0, 0
	s, err := openStore(&plain, commandTimeout, slog.New(slog.DiscardHandler), func(int) {})
	if err != nil {
		return examination{}, err
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(ctx, longestExamination)
	defer cancel()
	x := examination{Redis: s.addr, Namespace: cfg.Namespace}
	x.Checks = survey(ctx, s, cfg)
	if answers(x.Checks) {
		x.Checks = append(x.Checks, newPatient(s, cfg, s.streams, "").rights(ctx)...)
		x.Checks = append(x.Checks, examineFleet(ctx, s, configured)...)
	}
	x.OK = x.failed() == 0
	return x, nil
}

// answers reports whether enough was found for the store to be tried.
func answers(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.Check == "clock" })
}

func (x examination) failed() int {
	n := 0
	for _, f := range x.Checks {
		if f.Result == isFail {
			n++
		}
	}
	return n
}

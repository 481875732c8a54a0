package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
	"github.com/solotick/solotick/jobs/log"
	"github.com/solotick/solotick/jobs/redisstream"
)

// newRegistry makes the configured jobs. guard, logger and st are what their runs need: all may be nil when none is to
// run. The error is a *configError with every fault, each with the line of its job.
func newRegistry(
	cfg *config.Config, file configFile, guard *exec.Guard, logger *slog.Logger, st *store,
) (*jobs.Registry, error) {
	var registry jobs.Registry
	var faults config.Errors
	for i, job := range cfg.Jobs {
		handler, err := newHandler(cfg, job, guard, logger, st)
		if handler == nil && err == nil {
			err = errors.New("has no kind of work that this program knows; use exec, http, redis_stream or log")
		}
		if err != nil {
			handler = notMade // to find what is wrong with the rest of it, too
		}
		made, specErr := jobs.FromSpec(job.Spec, handler)
		if err = errors.Join(err, specErr); err == nil {
			err = registry.Add(made)
		}
		for _, fault := range leaves(err) {
			faults = append(faults, locate(fault, file, i, job.Line))
		}
	}
	if len(faults) > 0 {
		return nil, &configError{faults}
	}
	return &registry, nil
}

// newHandler makes what does the job's work; nil when there is no such kind.
func newHandler(
	cfg *config.Config, job config.Job, guard *exec.Guard, logger *slog.Logger, st *store,
) (jobs.Handler, error) {
	switch {
	case job.Exec != nil:
		command := exec.Command{
			Args: job.Exec.Command, Dir: job.Exec.Dir, Env: job.Exec.Env, KillGrace: job.Exec.KillGrace,
		}
		return exec.New(guard, command), command.Validate()
	case job.HTTP != nil:
		call := http.Call{
			Method: job.HTTP.Method, URL: job.HTTP.URL, Headers: job.HTTP.Headers, Body: job.HTTP.Body,
			Timeout: job.HTTP.Timeout,
		}
		for _, codes := range job.HTTP.Success {
			call.Success = append(call.Success, http.StatusRange(codes))
		}
		return http.New(call, nil)
	case job.RedisStream != nil:
		stream := redisstream.Stream{
			Name: job.RedisStream.Stream, MaxLen: job.RedisStream.MaxLen, Fields: job.RedisStream.Fields,
		}
		if cfg.Redis.Quorum != nil {
			return nil, errors.Join(stream.Validate(), &jobs.Fault{Field: "redis_stream",
				Rule: "needs one Redis, and redis.quorum names several that know nothing of each other: which of them has the stream? Use an exec or http job"})
		}
		if !cfg.Redis.Configured() { // a flag may set it, so the file alone cannot be blamed
			return nil, errors.Join(stream.Validate(), &jobs.Fault{Field: "redis_stream",
				Rule: "needs Redis, and none is configured: set redis.url, or start with run --redis URL"})
		}
		if st == nil {
			return notMade, stream.Validate()
		}
		if st.streams == nil {
			return nil, errors.Join(stream.Validate(), &jobs.Fault{Field: "redis_stream",
				Rule: "needs Redis, and this worker was started without one: restart it"})
		}
		return redisstream.New(st.streams, stream)
	case job.Log != nil:
		return log.New(logger, job.Log.Message), nil
	}
	return nil, nil
}

var notMade jobs.Handler = func(context.Context, jobs.Run) error { return errors.New("the job was not made") }

// leaves returns the single faults that err joins.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return leaves(inner)
	}
	return []error{err}
}

// locate says of the nth job's fault where that job is configured. It leaves the value out, which may have come from a
// secret variable.
func locate(fault error, file configFile, n, line int) *config.Error {
	e := &config.Error{File: string(file), Line: line, Column: 1, Field: fmt.Sprintf("jobs[%d]", n), Rule: fault.Error()}
	if f, ok := errors.AsType[*jobs.Fault](fault); ok {
		e.Field += "." + strings.TrimPrefix(f.Field, "jobs[0].") // the registry counts the jobs of one call
		e.Rule = f.Rule
	}
	return e
}

// Package registry makes the jobs of a configuration.
package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/cmd/worker/internal/checkin"
	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
	"github.com/solotick/solotick/jobs/log"
	"github.com/solotick/solotick/jobs/redisstream"
)

// Runtime has the parts of a replica that runs use.
type Runtime struct {
	Supervisor *exec.Supervisor
	Logger     *slog.Logger
	Streams    redis.UniversalClient // for redis_stream jobs; nil without Redis and for a quorum
}

// New makes the configured jobs. With a nil runtime it only checks them: they cannot run.
//
// The error is an *exitcode.ConfigError with every fault, each with the line of its job in the file
// at path.
func New(cfg *config.Config, path string, r *Runtime) (*jobs.Registry, error) {
	var registry jobs.Registry
	var faults config.Errors
	for i, job := range cfg.Jobs {
		handler, err := newHandler(cfg, job, r)
		if handler == nil && err == nil {
			err = errors.New("has no kind of work that this program knows; use exec, http, redis_stream or log")
		}
		if err != nil {
			handler = notMade // so that faults of the rest of the job are found, too
		}
		if r != nil {
			handler = checkin.Around(handler, job.Notify, job.Spec.Retry, r.Logger)
		}
		made, specErr := jobs.FromSpec(job.Spec, handler)
		if err = errors.Join(err, specErr); err == nil {
			err = registry.Add(made)
		}
		for _, fault := range joined.Errors(err) {
			faults = append(faults, locate(fault, path, i, job.Line))
		}
	}
	if len(faults) > 0 {
		return nil, &exitcode.ConfigError{Err: faults}
	}
	return &registry, nil
}

// newHandler makes the handler of a job. It returns nil when the job has no known kind of work.
func newHandler(cfg *config.Config, job config.Job, r *Runtime) (jobs.Handler, error) {
	var logger *slog.Logger
	var supervisor *exec.Supervisor
	if r != nil {
		logger, supervisor = r.Logger, r.Supervisor
	}
	switch {
	case job.Exec.IsSet():
		command := job.Exec.Reveal()
		command.Unset = cfg.SecretVariables
		return exec.New(supervisor, command), command.Validate()
	case job.HTTP.IsSet():
		return http.New(job.HTTP.Reveal(), nil)
	case job.RedisStream.IsSet():
		return newStreamHandler(cfg, job.RedisStream.Reveal(), r)
	case job.Log.IsSet():
		return log.New(logger, job.Log.Reveal().Message), nil
	}
	return nil, nil
}

func newStreamHandler(cfg *config.Config, configured config.RedisStream, r *Runtime) (jobs.Handler, error) {
	stream := redisstream.Stream{Name: configured.Stream, MaxLen: configured.MaxLen, Fields: configured.Fields}
	refuse := func(rule string) (jobs.Handler, error) {
		return nil, errors.Join(stream.Validate(), &jobs.Fault{Field: "redis_stream", Rule: rule})
	}
	switch {
	case cfg.Redis.Quorum != nil:
		return refuse("needs one Redis, and redis.quorum names several that know nothing of each other: which of them has the stream? Use an exec or http job")
	case !cfg.Redis.Configured(): // the file or a flag can set it, so the rule names both
		return refuse("needs Redis, and none is configured: set redis.url, or start with run --redis URL")
	case r == nil:
		return notMade, stream.Validate()
	case r.Streams == nil:
		return refuse("needs Redis, and this worker was started without one: restart it")
	}
	return redisstream.New(r.Streams, stream)
}

var notMade jobs.Handler = func(context.Context, jobs.Run) error { return errors.New("the job was not made") }

// locate returns a fault of job n with its place in the file. It omits the value, which a secret
// variable may have set.
func locate(fault error, path string, n, line int) *config.Error {
	e := &config.Error{File: path, Line: line, Column: 1, Field: fmt.Sprintf("jobs[%d]", n), Rule: fault.Error()}
	if f, ok := errors.AsType[*jobs.Fault](fault); ok {
		e.Field += "." + strings.TrimPrefix(f.Field, "jobs[0].") // the registry counts from the first job of a call
		e.Rule = f.Rule
	}
	return e
}

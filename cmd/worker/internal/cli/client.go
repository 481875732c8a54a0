package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/cmd/worker/internal/remote"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// client is a connection to a fleet: commands read from it and control its jobs.
type client struct {
	cfg      *config.Config
	registry *jobs.Registry
	store    *stores.Store // nil with --server
	fleet    *fleet.Fleet  // nil with --server
	cmd      *cobra.Command

	ask       asker // the fleet, or with --server a worker of it
	worker    *remote.Client
	namespace string
}

// asker answers questions about a fleet: a [fleet.Fleet] from the store, a [remote.Client] from a
// worker's API.
type asker interface {
	Now(ctx context.Context) (time.Time, error)
	Status(ctx context.Context, given []*jobs.Job, names ...string) (fleet.Status, error)
	Describe(ctx context.Context, name string, job *jobs.Job, ticks, outcomes int) (fleet.Description, error)
	History(ctx context.Context, job string, n int) ([]fleet.Entry, error)
	Why(ctx context.Context, name string, job *jobs.Job, tick time.Time, translate ...func(english string) string) (fleet.Explanation, error)
	Await(ctx context.Context, job string, tick time.Time) (fleet.Entry, error)

	Pause(ctx context.Context, job string, act fleet.Act) (fleet.Pause, error)
	Resume(ctx context.Context, job string, act fleet.Act) (*fleet.Pause, error)
	Trigger(ctx context.Context, job string, o fleet.TriggerOptions) (fleet.Triggered, error)
	Cancel(ctx context.Context, job string, tick time.Time, act fleet.Act) (fleet.Cancelled, error)
	Repair(ctx context.Context, job string, act fleet.Act) (fleet.Repaired, error)
	Forgettable(ctx context.Context, job string) (fleet.Forgotten, error)
	Forget(ctx context.Context, job string, act fleet.Act) (fleet.Forgotten, error)
	Audit(ctx context.Context, cursor string, n int) (fleet.AuditLog, error)
}

// loadForFleet reads the configuration, which must name a store that others can ask.
func (c *cli) loadForFleet(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := c.load(cmd)
	if err != nil {
		return nil, err
	}
	if cfg.Store.InMemory() {
		return nil, &exitcode.ConfigError{Err: fmt.Errorf("%s: store.url: the memory of a worker is known only to that worker: "+
			"name another store, or ask the worker with --server URL", c.file)}
	}
	return cfg, nil
}

var errTokenFile = errors.New("--token-file: needs --server")

// connect opens the store of the configured fleet, or with --server the API of a worker. The first
// call connects. The caller closes the client.
func (c *cli) connect(cmd *cobra.Command) (*client, error) {
	if server := cmd.Flags().Lookup("server"); server != nil && server.Changed {
		return c.connectServer(cmd, server.Value.String())
	}
	if file := cmd.Flags().Lookup("token-file"); file != nil && file.Changed {
		return nil, &usageError{errTokenFile, cmd}
	}
	cfg, err := c.loadForFleet(cmd)
	if err != nil {
		return nil, err
	}
	registry, err := c.check(cfg)
	if err != nil {
		return nil, err
	}
	s, err := stores.Ask(cfg)
	if err != nil {
		return nil, err
	}
	if err := begun(cmd.Context(), s, cfg.Namespace); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	f, err := fleet.New(s.Store)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &client{cfg: cfg, registry: registry, store: s, fleet: f, cmd: cmd, ask: f, namespace: cfg.Namespace}, nil
}

// begun returns an error where nothing has run yet: a command that asks makes nothing.
func begun(ctx context.Context, s *stores.Store, namespace string) error {
	exists, err := s.Exists(ctx)
	switch {
	case err != nil:
		return s.Explain(err)
	case !exists:
		return fmt.Errorf("nothing has run in namespace %q of %s yet: start a worker first, with run", namespace, s.Addr)
	}
	return nil
}

// close closes the connections. It ignores errors: no answer depends on them.
func (a *client) close() {
	if a.worker != nil {
		a.worker.Close()
		return
	}
	_ = a.store.Close()
}

// jobs returns the configured jobs in the order of the file.
func (a *client) jobs() []*jobs.Job {
	list := make([]*jobs.Job, 0, len(a.cfg.Jobs))
	for _, entry := range a.cfg.Jobs {
		if j, ok := a.registry.Get(entry.Spec.Name); ok {
			list = append(list, j)
		}
	}
	return list
}

// findJob returns a configured job, or with --server what the worker says of one, as far as times
// need it. It returns nil for a job that only replicas or records know, and an error of the command
// line for any other name.
func (a *client) findJob(ctx context.Context, name string) (*jobs.Job, error) {
	if j, ok := a.registry.Get(name); ok {
		return j, nil
	}
	if job, key := naming.SplitKeyed(name); protocol.ValidKeyed(name) {
		if a.worker != nil { // which says whether it is there
			return nil, nil
		}
		if base, ok := a.registry.Get(job); ok && base.Schedule().Stored() {
			s, err := schedules.Of(a.store.Store, base)
			if err == nil {
				base, err = s.JobOf(ctx, key)
			}
			if !errors.Is(err, schedules.ErrNotFound) { // its record may be there
				return base, a.explain(name, err)
			}
		}
	}
	if !naming.Valid(name) && a.worker != nil { // it would be another path
		return nil, &usageError{fmt.Errorf("%q %s", name, naming.Rule), a.cmd}
	}
	s, err := a.ask.Status(ctx, nil, name)
	if p, ok := errors.AsType[*remote.Problem](err); ok && p.Status == http.StatusNotFound {
		return nil, &usageError{p, a.cmd}
	}
	switch {
	case err != nil:
		return nil, a.explain(name, err)
	case a.worker != nil:
		return definition(s.Jobs[0]), nil
	case s.Jobs[0].Known || !s.Jobs[0].Unserved:
		return nil, nil
	}
	known := map[string]bool{}
	for _, entry := range a.cfg.Jobs {
		known[entry.Spec.Name] = true
	}
	for _, r := range s.Replicas {
		for served := range r.Jobs {
			known[served] = true
		}
	}
	all := slices.Sorted(maps.Keys(known))
	text := fmt.Sprintf("%q is not a job of this configuration, nor of a live replica, and the fleet has no record of it", name) + a.whoForgot(ctx, name)
	if similar := similar(name, all); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	} else {
		text += "; there are: " + render.List(all)
	}
	return nil, &usageError{errors.New(text), a.cmd}
}

// statusOf returns the status of one job, with the live replicas.
func (a *client) statusOf(ctx context.Context, name string) (fleet.JobStatus, fleet.Status, error) {
	s, err := a.ask.Status(ctx, nil, name)
	if err != nil {
		return fleet.JobStatus{}, s, err
	}
	return s.Jobs[0], s, nil
}

// definition returns a job with the schedule and the time zone of a status; nil where this program
// does not understand the schedule: times are in UTC then.
func definition(j fleet.JobStatus) *jobs.Job {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule, spec.Timezone, spec.Leader, spec.Paused = j.Name, j.Schedule, j.Timezone, j.Spec.Leader, j.Spec.Paused
	if spec.Leader {
		spec.Schedule = ""
	}
	job, err := jobs.FromSpec(spec, func(context.Context, jobs.Run) error { return nil })
	if err != nil {
		return nil
	}
	return job
}

// explain adds to an error of the fleet what to do about it.
func (a *client) explain(job string, err error) error {
	switch {
	case err == nil:
		return nil
	case a.worker != nil:
		return err // it names the worker
	case errors.Is(err, protocol.ErrUnknown):
		return fmt.Errorf("no replica has ever served job %q in namespace %q: start one first, with run", job, a.cfg.Namespace)
	case errors.Is(err, fleet.ErrLeaderTask), errors.Is(err, fleet.ErrStored), errors.Is(err, fleet.ErrNotCancellable), errors.Is(err, fleet.ErrNoTrace), errors.Is(err, fleet.ErrNotOver),
		errors.Is(err, fleet.ErrClock), errors.Is(err, fleet.ErrInUse), errors.Is(err, context.Canceled):
		return err
	}
	return a.store.Explain(err)
}

// zone returns the time zone of a job; UTC for nil.
func zone(j *jobs.Job) *time.Location {
	if j == nil {
		return time.UTC
	}
	return j.Schedule().Location()
}

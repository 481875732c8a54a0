package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/protocol"
)

// client is what the commands share that ask a fleet, or rule it.
type client struct {
	cfg      *config.Config
	registry *jobs.Registry
	store    *stores.Store
	fleet    *fleet.Fleet
	cmd      *cobra.Command
}

// whereFlags are those that say which fleet.
func whereFlags(cmd *cobra.Command) {
	for _, o := range overrides {
		if o.flag == "redis" || o.flag == "namespace" {
			cmd.Flags().String(o.flag, "", o.usage)
		}
	}
}

// loadWithRedis loads a configuration that names a Redis.
func (c *cli) loadWithRedis(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := c.load(cmd)
	if err != nil {
		return nil, err
	}
	if !cfg.Redis.Configured() {
		return nil, &exitcode.ConfigError{Err: fmt.Errorf("%s: redis.url: without redis there is no fleet to ask: set it, or name one with --redis URL", c.file)}
	}
	return cfg, nil
}

// connect prepares to ask the fleet that is configured. It does not connect yet. Close what it
// returns in the end.
func (c *cli) connect(cmd *cobra.Command) (*client, error) {
	cfg, err := c.loadWithRedis(cmd)
	if err != nil {
		return nil, err
	}
	registry, err := c.check(cfg)
	if err != nil {
		return nil, err
	}
	s, err := stores.Open(cfg, stores.CommandTimeout, slog.New(slog.DiscardHandler), func(int) {})
	if err != nil {
		return nil, err
	}
	f, err := fleet.New(s.Store)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &client{cfg: cfg, registry: registry, store: s, fleet: f, cmd: cmd}, nil
}

// close closes the connections. Nothing that was asked depends on how that goes.
func (a *client) close() { _ = a.store.Close() }

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

// findJob returns the named job, or nil when it is one that only replicas know, or a record of the
// fleet. One that nobody knows is a wrong command line.
func (a *client) findJob(ctx context.Context, name string) (*jobs.Job, error) {
	if j, ok := a.registry.Get(name); ok {
		return j, nil
	}
	known := map[string]bool{}
	for _, entry := range a.cfg.Jobs {
		known[entry.Spec.Name] = true
	}
	if replicas, err := a.fleet.Replicas(ctx); err == nil { // without them, what is configured has to do
		for _, r := range replicas {
			if r.JobCount > len(r.Jobs) { // they were too many to name
				known[name] = true
			}
			for served := range r.Jobs {
				known[served] = true
			}
		}
	}
	if known[name] || a.recorded(ctx, name) {
		return nil, nil
	}
	all := slices.Sorted(maps.Keys(known))
	text := fmt.Sprintf("%q is not a job of this configuration, nor of a replica that lives, and the fleet has no record of it", name) + a.whoForgot(ctx, name)
	if similar := similar(name, all); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	} else {
		text += "; there are: " + output.List(all)
	}
	return nil, &usageError{errors.New(text), a.cmd}
}

// recorded tells whether the fleet has a record of a job, which outlasts the job.
func (a *client) recorded(ctx context.Context, name string) bool {
	_, err := a.fleet.Open(ctx, name)
	return err == nil
}

// explain says what to do about an error of the fleet.
func (a *client) explain(job string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, protocol.ErrUnknown):
		return fmt.Errorf("no replica has ever contended for job %q in namespace %q: start one first, with run", job, a.cfg.Namespace)
	case errors.Is(err, fleet.ErrLeaderTask), errors.Is(err, fleet.ErrNotCancellable), errors.Is(err, fleet.ErrNoTrace), errors.Is(err, fleet.ErrClock), errors.Is(err, fleet.ErrInUse),
		errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("Redis at %s: %w; %s", a.store.Addr, err, a.store.Advice(err)) //nolint:staticcheck // Redis is a name
}

// completeJob completes the names of the configured jobs, for a shell.
func (c *cli) completeJob(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const plainly = cobra.ShellCompDirectiveNoFileComp
	cfg, err := c.load(cmd)
	if err != nil || len(args) > 0 && !strings.Contains(cmd.Use, "...") {
		return nil, plainly
	}
	var names []string
	for _, entry := range cfg.Jobs {
		if !slices.Contains(args, entry.Spec.Name) {
			names = append(names, entry.Spec.Name)
		}
	}
	return names, plainly
}

// jobArgument takes exactly one argument, a job.
func jobArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes the name of one job, and got %s", cmd.Name(), output.Count(len(args), "argument")), cmd}
}

// flagFaults makes a wrong command line of what is wrong with its flags.
func flagFaults(cmd *cobra.Command, faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return &usageError{err, cmd}
	}
	return nil
}

// checkCount returns the fault of a -n that is out of range.
func checkCount(count, most int) error {
	if count < 1 || count > most {
		return fmt.Errorf("-n: %d must be from 1 to %d", count, most)
	}
	return nil
}

// byFlag is who asks.
func (c *cli) byFlag(cmd *cobra.Command, by *string) {
	cmd.Flags().StringVar(by, "by", "", "`NAME` of who asks, for the history (default: user and host)")
}

// by returns who asks, as far as that makes a name.
func (c *cli) by(name string) (string, error) {
	if name != "" {
		if !jobs.ValidName(name) {
			return "", fmt.Errorf("--by: %q %s", name, jobs.NameRule)
		}
		return name, nil
	}
	who, _ := c.env("USER")
	if who == "" {
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
	}
	host, _ := os.Hostname()
	return caller(who, host), nil
}

// caller makes a name of a user and a host: it cannot hold the sign that is usually between them.
func caller(user, host string) string {
	clean := strings.Map(func(r rune) rune {
		if jobs.ValidName("x" + string(r)) {
			return r
		}
		return '-'
	}, cmp.Or(user, "somebody")+"-at-"+cmp.Or(host, "some-host"))
	clean = strings.TrimLeft(clean, "._-")
	return clean[:min(len(clean), 128)]
}

// zone is the time zone in which a job's times are told.
func zone(j *jobs.Job) *time.Location {
	if j == nil {
		return time.UTC
	}
	return j.Schedule().Location()
}

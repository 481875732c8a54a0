package mistakes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler"
)

const nameRule = "must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -"

func nothing(context.Context, jobs.Run) error { return nil }

// job makes a job and returns its faults.
func job(name, schedule string, opts ...jobs.Option) func() error {
	return func() error {
		_, err := jobs.New(name, schedule, nothing, opts...)
		return err
	}
}

// on makes a job of a schedule.
func on(schedule string) func() error { return job("j", schedule) }

// with makes a job with options that runs each minute.
func with(opts ...jobs.Option) func() error { return job("j", "* * * * *", opts...) }

func sched(store protocol.Store, opts ...scheduler.Option) func() error {
	return func() error {
		_, err := scheduler.New(store, new(jobs.Registry), opts...)
		return err
	}
}

func redisStore(client redis.UniversalClient, namespace string, opts ...redislease.Option) func() error {
	return func() error {
		s, err := redislease.New(client, namespace, opts...)
		if err == nil {
			err = s.Close()
		}
		return err
	}
}

func locked(f func(*lock.Locks) error) func() error {
	return func() error {
		locks := lock.New(new(memlease.Store))
		defer locks.Close()
		return f(locks)
	}
}

func tried(l lock.Lock) error {
	_, err := l.TryAcquire(context.Background())
	return err
}

func triggered(job string, o fleet.TriggerOptions) func() error {
	return func() error {
		store := new(memlease.Store)
		if _, err := store.Sync(context.Background(), []protocol.Sync{{Name: "j"}}); err != nil {
			return err
		}
		f, err := fleet.New(store)
		if err != nil {
			return err
		}
		_, err = f.Trigger(context.Background(), job, o)
		return err
	}
}

// arguments has each mistake with its error; "" where it is none, and the reason beside it.
var arguments = []struct {
	mistake string
	try     func() error
	answer  string
}{
	{"schedule of 4 fields", on("* * * *"), `job "j": schedule: "* * * *" must have 5 fields, or 6 with leading seconds, and has 4`},
	{"minute 61", on("61 * * * *"), `job "j": schedule: "61 * * * *" has "61" in the minute field: must be a number or a range from 0 to 59`},
	{"30 February", on("0 0 30 2 *"), `job "j": schedule: "0 0 30 2 *" never fires: none of its months has a day that it names`},
	{"@evry", on("@evry 5m"), `job "j": schedule: "@evry 5m" must be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every DURATION, @at TIME, @triggered, @stored, or have 5 or 6 fields`},
	{"@every without a unit", on("@every 5"), `job "j": schedule: "@every 5" has the period "5", which must be a duration in h, m and s, such as 90s or 1h30m (a day is 24h)`},
	{"@every 0s", on("@every 0s"), `job "j": schedule: "@every 0s" has the period "0s", which must be at least 1s`},
	{"@every 500us", on("@every 500us"), `job "j": schedule: "@every 500us" has the period "500us", which must be whole seconds`},
	{"@at tomorrow", on("@at tomorrow"), `job "j": schedule: "@at tomorrow" has the time "tomorrow", but must be @at and a time as RFC 3339 writes it, such as @at 2030-01-31T08:00:00Z`},
	{"Quartz with a question mark", on("0 0/5 * * * ?"), ""}, // means what it does there
	{"Quartz with a year", on("0 0 12 * * ? *"), `job "j": schedule: "0 0 12 * * ? *" must have 5 fields, or 6 with leading seconds, and has 7`},
	{"Sunday as 7", on("0 9 * * 7"), ""}, // as in cron
	{"step 61", on("*/61 * * * *"), `job "j": schedule: "*/61 * * * *" has "*/61" in the minute field: the step after / must be a number from 1 to 60; for a longer period use @every`},
	{"@reboot", on("@reboot"), `job "j": schedule: "@reboot" must not be @reboot: a fleet has no reboot; use @every for a regular run or @at for a single one`},
	{"zone in the schedule", on("TZ=UTC 0 9 * * *"), `job "j": schedule: "TZ=UTC 0 9 * * *" must not name a time zone: use jobs.WithTimezone`},
	{"weekday MO", on("0 9 * * MO"), `job "j": schedule: "0 9 * * MO" has "MO" in the day of week field: must be a number or a range from 0 to 7, or SUN to SAT`},
	{"schedule of 7 fields", on("* * * * * * *"), `job "j": schedule: "* * * * * * *" must have 5 fields, or 6 with leading seconds, and has 7`},
	{"@every 1d", on("@every 1d"), `job "j": schedule: "@every 1d" has the period "1d", which must be a duration in h, m and s, such as 90s or 1h30m (a day is 24h)`},
	{"no schedule", on(""), `job "j": schedule: "" must have 5 fields, or 6 with leading seconds, and has 0`},
	{"day and weekday", on("0 9 31 * MON"), ""},          // either, as in cron
	{"step that does not divide", on("*/7 * * * *"), ""}, // starts over each hour, as in cron

	{"no name", job("", "@daily"), `job "": name: "" ` + nameRule},
	{"name with a colon", job("billing:nightly", "@daily"), `job "billing:nightly": name: "billing:nightly" ` + nameRule},
	{"name with a slash", job("billing/nightly", "@daily"), `job "billing/nightly": name: "billing/nightly" ` + nameRule},
	{"name with a space", job("nightly report", "@daily"), `job "nightly report": name: "nightly report" ` + nameRule},
	{"name of a function", job("main.(*Mailer).Digest-fm", "@daily"), `job "main.(*Mailer).Digest-fm": name: "main.(*Mailer).Digest-fm" ` + nameRule},

	{"nil handler", func() error { _, err := jobs.New("j", "@daily", nil); return err }, `job "j": handler: nil, must be a function`},
	{"zone that is not one", with(jobs.WithTimezone("Berlin")), `job "j": timezone: "Berlin" must be a name of the IANA time zone database, such as Europe/Berlin`},
	{"zone Local", with(jobs.WithTimezone("Local")), `job "j": timezone: "Local" must be a name of the IANA time zone database, such as Europe/Berlin`},
	{"negative timeout", with(jobs.WithTimeout(-1)), `job "j": timeout: "-1ns" must be at least 0s`},
	{"jitter above the interval", with(jobs.WithJitter(2 * time.Minute)), `job "j": jitter: "2m0s" must be shorter than the time between two ticks, 1m0s`},
	{"retry without backoff", with(jobs.WithRetry(jobs.Retry{MaxAttempts: 3})), ""}, // at once
	{"retry of 0 attempts", with(jobs.WithRetry(jobs.Retry{})), `job "j": retry.max_attempts: "0" must be at least 1`},
	{"overlap that is none", with(jobs.WithOverlap("skip")), `job "j": overlap: "skip" must be one of forbid, allow, queue, replace`},
	{"misfire that is none", with(jobs.WithMisfire("run_once", 0)), `job "j": misfire: "run_once" must be one of skip, latest, all`},
	{"leader with a schedule", job("j", "@daily", jobs.WithLeader()), `job "j": schedule: "@daily" must be left out of a leader task: it runs all the time`},
	{"leader with a timeout", job("j", "", jobs.WithLeader(), jobs.WithTimeout(time.Minute)), `job "j": timeout: "1m0s" must be left out of a leader task: it runs until it ends or its lease is lost`},
	{"rate without burst", with(jobs.WithRate(jobs.Rate{Count: 1, Per: time.Minute}, 0)), `job "j": burst: "0" must be from 1 to 1000000`},
	{"nil option", with(nil), `job "j": options[0]: "nil" must be an option`},
	{"spec without defaults", func() error { _, err := jobs.FromSpec(jobs.Spec{Name: "j", Schedule: "@daily"}, nothing); return err },
		`job "j": retry.max_attempts: "0" must be at least 1` + "\n" + `delivery: "" must be one of at_least_once, at_most_once` + "\n" +
			`overlap: "" must be one of forbid, allow, queue, replace` + "\n" + `misfire: "" must be one of skip, latest, all` + "\n" +
			`weight: "0" must be from 1 to 1000000` + "\n" +
			`history: "0" must be from 4 to 1000`},
	{"several at once", job("a b", "* * *", jobs.WithTimezone("X"), jobs.WithTimeout(-1)), `job "a b": name: "a b" ` + nameRule + "\n" +
		`timezone: "X" must be a name of the IANA time zone database, such as Europe/Berlin` + "\n" +
		`schedule: "* * *" must have 5 fields, or 6 with leading seconds, and has 3` + "\n" + `timeout: "-1ns" must be at least 0s`},

	{"name twice", func() error {
		a, _ := jobs.New("ok", "@daily", nothing)
		b, _ := jobs.New("ok", "@hourly", nothing)
		return new(jobs.Registry).Add(a, b)
	}, `jobs[1].name: "ok" must be unique: another job has this name; rename one of the two`},
	{"nil job", func() error { return new(jobs.Registry).Add(nil) }, `jobs[0]: "nil" must be a job`},
	{"nil registry", func() error { _, err := scheduler.New(new(memlease.Store), nil); return err }, ""}, // Update brings the jobs
	{"empty registry", sched(new(memlease.Store)), ""},                                                   // likewise
	{"nil store", sched(nil), `scheduler: store: "<nil>" must not be nil`},
	{"typed nil store", sched((*redislease.Store)(nil)), `scheduler: store: "<nil>" must not be nil`},
	{"nil option of the scheduler", sched(new(memlease.Store), nil), `scheduler: options[0]: nil must be an option`},
	{"nil observer", sched(new(memlease.Store), scheduler.WithObserver(nil)), `scheduler: observer: nil must be a function`},
	{"ttl of 10 ms", sched(new(memlease.Store), scheduler.WithTTL(10*time.Millisecond)), `scheduler: ttl: "10ms" must be from 100ms to 24h`},
	{"replica with a space", sched(new(memlease.Store), scheduler.WithReplica("pod 1")), `scheduler: replica: "pod 1" ` + nameRule},
	{"Run twice", func() error {
		s, err := scheduler.New(new(memlease.Store), nil)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return errors.Join(s.Run(ctx), s.Run(ctx))
	}, "scheduler: Run: Run was called before; make another Scheduler"},

	{"nil client", redisStore(nil, "ns"), "redislease: client is a <nil>, must be a *redis.Client or *redis.ClusterClient"},
	{"typed nil client", redisStore((*redis.Client)(nil), "ns"), "redislease: client is a nil *redis.Client, must be a *redis.Client or *redis.ClusterClient"},
	{"ring", redisStore(redis.NewRing(&redis.RingOptions{}), "ns"), "redislease: client is a *redis.Ring, must be a *redis.Client or *redis.ClusterClient"},
	{"namespace with a colon", redisStore(redis.NewClient(&redis.Options{}), "prod:billing"), `redislease: namespace "prod:billing" ` + nameRule},
	{"no namespace", redisStore(redis.NewClient(&redis.Options{}), ""), `redislease: namespace "" ` + nameRule},
	{"timeout 0", redisStore(redis.NewClient(&redis.Options{}), "ns", redislease.WithTimeout(0)), "redislease: timeout 0s must be at least 10ms"},
	{"nil option of the store", redisStore(redis.NewClient(&redis.Options{}), "ns", nil), "redislease: options[0]: nil must be an option"},

	{"trigger without By", triggered("j", fleet.TriggerOptions{}), `lease: trigger by: "" ` + nameRule},
	{"trigger of a name only", triggered("j", fleet.TriggerOptions{By: "me"}), ""}, // a name is enough
	{"trigger of an unknown job", triggered("nope", fleet.TriggerOptions{By: "me"}), `job "nope": lease: there is no record of this name`},
	{"window without a key", triggered("j", fleet.TriggerOptions{By: "me", Window: time.Minute}), `fleet: trigger window: "1m0s" must be left out without a key`},
	{"pause of an unknown job", func() error {
		f, err := fleet.New(new(memlease.Store))
		if err != nil {
			return err
		}
		_, err = f.Pause(context.Background(), "nope", fleet.Act{By: "me"})
		return err
	}, `job "nope": lease: there is no record of this name`},
	{"fleet of a typed nil", func() error { _, err := fleet.New((*redislease.Store)(nil)); return err },
		"fleet: store: nil, must be a store"},

	{"semaphore of 0", locked(func(l *lock.Locks) error { return tried(l.Semaphore("s", 0)) }), `lock: semaphore "s": permits: 0 must be from 1 to 2147483647`},
	{"5 permits of 3", locked(func(l *lock.Locks) error { return tried(l.Semaphore("s", 3).Take(5)) }), `lease: lock claim permits: "5" must be from 1 to the limit`},
	{"lock with a colon", locked(func(l *lock.Locks) error { return tried(l.Mutex("user:1")) }),
		`lock: name: "user:1" ` + nameRule + "; lock.Name makes a name of any strings"},
	{"lock of ttl 0", locked(func(l *lock.Locks) error { return tried(l.Mutex("m", lock.WithTTL(0))) }), `lease: lock claim ttl: "0s" must be at least 1ms`},
	{"release twice", locked(func(l *lock.Locks) error {
		h, err := l.Mutex("m").Acquire(context.Background())
		if err != nil {
			return err
		}
		return errors.Join(h.Release(context.Background()), h.Release(context.Background()))
	}), ""}, // the second does nothing, so that it can be deferred
	{"Multi of nothing", locked(func(l *lock.Locks) error { _, err := l.Multi().Acquire(context.Background()); return err }),
		"lock: several at once: there must be at least one"},
	{"election with a space", locked(func(l *lock.Locks) error {
		_, err := election.New(l, "a b").Campaign(context.Background())
		return err
	}), `election: lock: name: "a b" ` + nameRule + "; lock.Name makes a name of any strings"},
	{"locks of a typed nil", func() error { return tried(lock.New((*redislease.Store)(nil)).Mutex("m")) }, "lock: store: nil must be a store"},
}

func TestMistakesInArgumentsHaveAnExactAnswer(t *testing.T) {
	for _, a := range arguments {
		t.Run(a.mistake, func(t *testing.T) {
			t.Parallel()
			if err := a.try(); a.answer != "" {
				require.EqualError(t, err, a.answer)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
)

const kindList = "exec, http, redis_stream, log"

// kindsOfWork are the keys of which a job has exactly one.
var kindsOfWork = strings.Split(kindList, ", ")

// jobKeys are the keys of a job. Package jobs judges its policies, so their ranges here are for the
// reference and for editors; a test holds them against each other.
var jobKeys = []key[Job]{
	field("name", anyText[string]("a name that no other job has"), func(j *Job) *string { return &j.Spec.Name },
		"the job's name in its namespace").needed("every job needs one, such as nightly-report"),
	field("schedule", anyText[string]("see jobs/schedule"), func(j *Job) *string { return &j.Spec.Schedule },
		"when the job runs; @triggered: only when somebody triggers it; a leader task has none").defaultsTo("required, or schedules"),
	field("schedules", stored, func(j *Job) *string { return &j.Spec.Schedule },
		"in place of schedule: those that lie in the store, one for each key").defaultsTo("none"),
	field("leader", boolean, func(j *Job) *bool { return &j.Spec.Leader },
		"a task that runs all the time, on one replica"),

	field("timezone", anyText[string]("a name of the IANA time zone database"), func(j *Job) *string { return &j.Spec.Timezone },
		"of the schedule").orInDefaults().defaultsTo("UTC"),
	field("timeout", duration("0s or more"), func(j *Job) *time.Duration { return &j.Spec.Timeout },
		"the limit of one attempt; 0s is none").orInDefaults(),
	field("retry", mapping(retryKeys, nil), func(j *Job) *jobs.Retry { return &j.Spec.Retry },
		"of a failed run, by the same holder under the same lease").orInDefaults(),
	field("delivery", anyText("", jobs.AtLeastOnce, jobs.AtMostOnce), func(j *Job) *jobs.Delivery { return &j.Spec.Delivery },
		"at_most_once grants a tick once, whatever happens to its holder").orInDefaults(),
	field("max_takeovers", number(0, 0, ""), func(j *Job) *int { return &j.Spec.MaxTakeovers },
		"grants of one tick after its holders' leases ran out; then it is settled as lost").orInDefaults(),
	field("overlap", anyText("", jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace), func(j *Job) *jobs.Overlap { return &j.Spec.Overlap },
		"what becomes of a tick that comes while an earlier one of the job runs, anywhere").orInDefaults(),
	field("misfire_grace", duration("0s or more"), func(j *Job) *time.Duration { return &j.Spec.MisfireGrace },
		"how late a tick may start and be on time; less than 1s counts as 1s").orInDefaults(),
	field("misfire", anyText("", jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll), func(j *Job) *jobs.Misfire { return &j.Spec.Misfire },
		"which of the ticks that come later run: none, the newest, or each, oldest first").orInDefaults(),
	field("catch_up_window", duration("0s or more"), func(j *Job) *time.Duration { return &j.Spec.CatchUpWindow },
		"misfires that are older are settled as missed").orInDefaults(),
	field("max_catch_up", number(0, limits.MaxCatchUp, ""), func(j *Job) *int { return &j.Spec.MaxCatchUp },
		"so are the oldest misfires past this many").orInDefaults(),
	field("jitter", duration("0s or more, shorter than the time between two ticks"), func(j *Job) *time.Duration { return &j.Spec.Jitter },
		"a shift of each start by at most this, the same on every replica").orInDefaults(),
	field("rate", rate, func(j *Job) *jobs.Rate { return &j.Spec.Rate },
		"how often the job may be triggered by hand: 1/10m is once in 10 minutes").orInDefaults().defaultsTo("none"),
	field("burst", number(0, 1_000_000, ""), func(j *Job) *int { return &j.Spec.Burst },
		"how many triggers may come at once after a while without any; 1 or more with rate").orInDefaults(),
	field("weight", number(1, limits.MaxWeight, ""), func(j *Job) *int { return &j.Spec.Weight },
		"how much of max_runs a run takes; at most max_runs").orInDefaults(),
	field("max_concurrent", number(0, limits.MaxConcurrent, ""), func(j *Job) *int { return &j.Spec.MaxConcurrent },
		"with schedules: stored, how many runs of the job there may be at one time over the fleet; 0: no limit").defaultsTo("0"),
	field("groups", groupNames, func(j *Job) *[]string { return &j.Spec.Groups },
		"only replicas of one of these groups run the job").orInDefaults().defaultsTo("none: any replica"),
	field("history", number(limits.MinHistory, limits.MaxHistory, ""), func(j *Job) *int { return &j.Spec.History },
		"how many settled ticks are kept to be looked at; 4 of each key with schedules: stored, unless the job itself says").orInDefaults(),
	field("history_bytes", number(0, limits.MaxHistoryBytes, ""), func(j *Job) *int { return &j.Spec.HistoryBytes },
		"how many bytes of the store they may take, at least 512 for each that may be kept; 0 is 4 KiB each").orInDefaults(),
	field("paused", boolean, func(j *Job) *bool { return &j.Spec.Paused }, "every tick is settled as skipped").orInDefaults(),

	field("notify", mapping(notifyKeys, nil), func(j *Job) *Notify { return &j.Notify },
		"which monitors are notified when a run starts, succeeds and fails, and when receivers are").hidden(),

	field("exec", secret(startingWith(exec.Command{KillGrace: defaultKillGrace}, mapping(execKeys, nil))),
		func(j *Job) *Private[exec.Command] { return &j.Exec }, "run a program").neverEmpty(),
	field("http", secret(startingWith(newCall, mapping(httpKeys, chooseMethod))),
		func(j *Job) *Private[http.Call] { return &j.HTTP }, "send a request").neverEmpty(),
	field("redis_stream", secret(mapping(streamKeys, nil)),
		func(j *Job) *Private[RedisStream] { return &j.RedisStream }, "add an entry to a stream").neverEmpty(),
	field("log", secret(mapping(logKeys, nil)),
		func(j *Job) *Private[Log] { return &j.Log }, "write a line to the worker's log").neverEmpty(),
}

var notifyKeys = []key[Notify]{
	field("healthchecks", monitorURL, func(n *Notify) *Secret { return &n.Healthchecks },
		"a check of Healthchecks, such as https://hc-ping.com/${CHECK}").hidden().defaultsTo("none"),
	field("sentry", monitorURL, func(n *Notify) *Secret { return &n.Sentry },
		"a cron monitor of Sentry, such as https://HOST/api/PROJECT/cron/MONITOR/${KEY}/").hidden().defaultsTo("none"),
	field("after", number(1, maxAfter, fmt.Sprintf("must be from 1 to %d", maxAfter)), func(n *Notify) *int { return &n.After },
		"how many ticks of the job go wrong in a row before the receivers of notifications are notified").defaultsTo("1"),
}

// maxAfter is no more than what a store remembers of a job in any case.
const maxAfter = 16

var (
	httpURL    = checked("a URL such as https://example.com/check", "absolute, http or https", "^[Hh][Tt][Tt][Pp][Ss]?://", requestURLRule)
	monitorURL = secret(httpURL)
)

var retryKeys = []key[jobs.Retry]{
	field("max_attempts", number(1, 0, ""), func(r *jobs.Retry) *int { return &r.MaxAttempts },
		"runs of a tick by one holder, under one lease"),
	field("backoff", duration("0s or more"), func(r *jobs.Retry) *time.Duration { return &r.Backoff },
		"the wait before the second attempt, doubled for each further one, with jitter"),
	field("max_backoff", duration("retry.backoff or more"), func(r *jobs.Retry) *time.Duration { return &r.MaxBackoff },
		"no wait is longer"),
}

// defaultKeys are those of jobKeys that are policies. The others say why they are not.
var defaultKeys = func() []key[Job] {
	all := slices.Clone(jobKeys)
	for i, k := range all {
		if !k.policy {
			all[i] = key[Job]{name: k.name, refused: true, read: func(r *reader, v value, _ *Job) bool {
				r.add(v.line, v.column, v.path, "", "cannot have a default; write it in each job")
				return false
			}}
		}
	}
	return all
}()

// jobList is for the reference and for editors: reader.jobs reads the list, after everything else.
var jobList = kind[[]Job]{
	values: "a list of jobs",
	schema: func() schema {
		one := schemaOf(jobKeys)
		one["anyOf"] = []schema{{"required": []string{"schedule"}}, {"required": []string{"schedules"}}, {"required": []string{"leader"}}}
		one["oneOf"] = each(kindsOfWork, func(kind string) schema { return schema{"required": []string{kind}} })
		list := listSchema(one)
		list["minItems"] = 1
		return list
	}(),
}

func each[A, B any](list []A, f func(A) B) []B {
	all := make([]B, len(list))
	for i, a := range list {
		all[i] = f(a)
	}
	return all
}

// stored takes the word for schedules that lie in the store, and fills a job's schedule.
var stored = single("the word stored", "stored", enumSchema([]string{"stored"}), func(t text) (string, string) {
	if t.string != "stored" {
		return "", "must be stored: the job then runs by schedules that lie in the store; one of its own is written as schedule"
	}
	return "@stored", ""
})

// rate takes a rate; the empty string is none, as the absent key is.
var rate = single("a rate such as 1/10m", "a count and a time: at most 1 each ms, at least 1 in 8760h", textSchema("^$|/"),
	func(t text) (jobs.Rate, string) {
		rate, err := jobs.ParseRate(t.string)
		if fault, is := errors.AsType[*jobs.Fault](err); is {
			return jobs.Rate{}, fault.Rule
		}
		return rate, ""
	})

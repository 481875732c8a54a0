// Package config reads the worker daemon's configuration file.
//
// [Parse] returns a complete [Config], every default filled in and every rule checked, or [Errors].
// Each error has its file, line, column, field, the value as written, and the rule. [Read] reads
// the file. [Default] is for a daemon without a file, and [Config.Set] for the flags that override
// one. Nothing here opens a connection or reads the environment by itself, and nothing but the
// daemon imports this package.
//
// # Keys
//
// The tables of keys (topKeys, redisKeys, jobKeys and those that they name) are the only list of
// the file's keys. The reader comes from them, [Schema], what [NeedsRestart] compares, and the
// tables of docs/configuration.md. A new key is a line in one of them and a field of what it
// fills: [Config] or one of its sections, [Job] or jobs.Spec.
// Rules that relate several keys stand in checkRedis, checkFailover and, for the policies of a job,
// in package jobs.
//
// A leader task has no schedule, timeout, jitter and rate: written in the job they are errors, and
// those of defaults are not for it. It is started again when it ends, after retry.backoff, which
// doubles up to retry.max_backoff.
//
// A name starts with a letter or digit and holds at most 128 of A-Z a-z 0-9 . _ -.
//
// # Values
//
// A string is the text of any single value as it is written: 12, true and 1.10 are "12", "true" and
// "1.10". A duration is Go's, such as 1m30s; a number without a unit is an error, except 0. Whole
// numbers are plain decimal digits and booleans true or false, without quotes. A list is always a
// list, even of one.
//
// A key without a value (nothing, ~ or null) is as good as absent: the default holds. Where that
// would hide a mistake it is an error: for redis, jobs, the kinds of job, and within lists, env,
// headers and fields.
//
// A job's keys win over those of defaults; retry is merged key by key, lists are replaced. A fault
// of defaults is reported once, where defaults has it.
//
// # Environment
//
// A value may hold ${NAME}, also one of env, headers or fields. The environment variable of that
// name replaces it; it must be set, though it may be empty. ${NAME:-default} is the default when
// the variable is unset or empty, as in a POSIX shell. The default ends at the first } and holds no
// reference. $${ stands for ${ itself, and $NAME for itself. Keys are left alone. References are
// replaced after YAML is parsed, so that no variable can bring structure with it, and ${NAME} can
// be a duration, number or boolean. Within { } and [ ] YAML wants quotes around it: [sh, -c,
// "${SCRIPT}"].
//
// # Secrets
//
// Errors show values as the file has them, never what a variable holds. They hide URLs and
// passwords of redis, those of its addresses that hold an @, and URLs that may hold a password.
// They also hide env, headers, fields and bodies. The variables that these values refer to, but for
// PATH, HOME and the like, are in SecretVariables: commands do not get them. A [Config] prints without its secrets. Names,
// schedules and the like are not treated as secrets: take none of them from a secret variable.
//
// # Revisions
//
// Two files make a job with the same revision (jobs.Job.Revision) when they say the same about it.
// Policies count by their values. The keys within exec, http, redis_stream or log count as they are
// written, before ${NAME} is replaced. Comments, layout, quotes, aliases and the order of keys make
// no difference; a key that is written with the value of its default does. So replicas with other
// values in their environment agree, and no revision gives a variable away.
//
// # YAML
//
// A file is one document in UTF-8, of at most 64 MiB. Unknown and repeated keys are errors.
// Anchors, aliases and merge keys (<<) work; the values that aliases stand for are limited to ten
// times the size of the file, and some. Tags other than the plain ones are errors.
package config

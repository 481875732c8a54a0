// Package config reads the worker daemon's configuration file.
//
// [Load] and [Parse] return either a complete [Config], every default filled in and every rule checked, or [Errors]:
// everything that is wrong with the file, each with file, line, column, the field, its value as written and the rule.
// [Default] is for a daemon without a file, and [Config.Set] for the flags that override one. [Read] and [Parse] are the
// two halves of Load, for who wants to know whether the text has changed. Nothing here opens a
// connection or reads the environment by itself, and nothing but the daemon imports this package.
//
// # Keys
//
//	key                 default                range
//	namespace           default                a name, see below
//	replica             "" (the worker's own)  a name, or "" for the default
//	groups              none                   names
//	max_runs            0: no limit            0 to 1000000: the weight of jobs that run here at a time
//	redis               none                   exactly one of url, addrs and quorum
//	  url                                      redis://host, rediss://host or unix:///path
//	  addrs                                    host:port of some servers, with cluster: true, or of Sentinels, with master
//	  cluster           false                  true: addrs are those of a Redis Cluster
//	  master                                   the name by which the Sentinels in addrs know the primary
//	  quorum                                   3 to 9 URLs of servers that know nothing of each other
//	  username          the default user       with password; both not where a URL has them
//	  password          none                   not empty
//	  database          0                      0 or more, and 0 with cluster; not where a URL has one
//	  sentinel_username the default user       with master and sentinel_password
//	  sentinel_password none                   with master
//	  tls               none                   with addrs, and where every URL is rediss; {} trusts what the system trusts
//	    ca_file         the system's           PEM; the authorities to trust instead
//	    cert_file       none                   PEM, with key_file
//	    key_file        none                   PEM, with cert_file
//	    server_name     the host               in the servers' certificates
//	  wait_replicas     0                      0 to 16; with 1 or more, lease.ttl is 2s or more; 0 with quorum
//	  failover_grace    0s                     0s, or lease.ttl to 25h; 0s with cluster and quorum
//	lease.ttl           15s                    500ms to 24h
//	http.addr           127.0.0.1:8080         host:port; port 0 picks one; any interface may be named
//	http.token          refused: it is not supported yet, for nothing that is served changes state
//	shutdown_grace      30s                    0s or more
//	log.level           info                   debug, info, warn, error
//	log.format          text                   text, json
//	defaults                                   the keys of a job that are marked *
//	jobs                required               one job or more
//
//	jobs[]
//	  name              required               a name that no other job has
//	  schedule          required               see package jobs/schedule; none where leader is true
//	  leader            false                  true: a task that runs all the time on one replica, see below
//	  timezone *        UTC                    a name of the IANA time zone database
//	  timeout *         0s, none               0s or more
//	  retry *
//	    max_attempts    1                      1 or more
//	    backoff         1s                     0s or more
//	    max_backoff     1m                     backoff or more
//	  delivery *        at_least_once          at_least_once, at_most_once
//	  max_takeovers *   3                      0 or more
//	  overlap *         forbid                 forbid, allow, queue, replace
//	  misfire_grace *   10s                    0s or more
//	  misfire *         latest                 skip, latest, all
//	  catch_up_window * 1h                     0s or more
//	  max_catch_up *    100                    0 or more
//	  weight *          1                      1 to 1000000, at most max_runs where this replica serves the job
//	  jitter *          0s                     0s or more, shorter than the time between two ticks
//	  rate *            none                   a limit of triggers such as 1/10m: at most 1 each ms, at least 1 in 8760h
//	  burst *           1                      1 to 1000000; how many triggers may come at once
//	  groups *          none: any replica      names
//	  paused *          false                  true, false
//	  history *         128                    16 to 1000; how many settled ticks are kept
//	  exec              exactly one of exec, http, redis_stream and log
//	    command         required               a list of strings, the first not empty
//	    dir             the worker's           a directory; whether it exists is seen when the job runs
//	    env             none                   names to strings; no name starts with SOLOTICK_
//	    kill_grace      5s                     0s or more
//	  http
//	    method          GET, POST with a body  GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, in any case
//	    url             required               absolute, http or https
//	    headers         none                   names to strings; none that a run is told by
//	    body            none                   a string
//	    success         [200-299]              one status code or range or more, 200 to 599
//	    timeout         30s                    above 0s
//	  log
//	    message         required               not blank
//	  redis_stream                             needs a Redis, which the worker checks: a flag may name it
//	    stream          required               the key of the stream; no } in it, but that of a hash tag such as {eu}
//	    maxlen          0: all                 about how many entries to keep, 0 or more
//	    fields          none                   names to strings; none that is set for each entry
//
// A leader task has no schedule, timeout, jitter and rate: written in the job they are errors, and those of defaults are
// not for it. It is started again when it ends, after retry.backoff, which doubles up to retry.max_backoff.
//
// A name starts with a letter or digit and holds at most 128 of A-Z a-z 0-9 . _ -.
//
// # Values
//
// A string is the text of any single value as it is written: 12, true and 1.10 are "12", "true" and "1.10". A duration
// is Go's, such as 1m30s; a number without a unit is an error, except 0. Whole numbers are plain decimal digits and
// booleans true or false, without quotes. A list is always a list, even of one.
//
// A key without a value (nothing, ~ or null) is as good as absent: the default holds. Where that would hide a mistake it
// is an error: for redis, jobs, the kinds of job, and within lists, env, headers and fields.
//
// A job's keys win over those of defaults; retry is merged key by key, lists are replaced. A fault of defaults is
// reported once, where defaults has it.
//
// # Environment
//
// In a value, also one of env, headers or fields, ${NAME} is replaced by the environment variable of that name, which
// must be set, though it may be empty. ${NAME:-default} is the default when the variable is unset or empty, as in a POSIX
// shell; the default ends at the first } and holds no reference. $${ stands for ${ itself, and $NAME for itself. Keys are
// left alone. References are replaced after YAML is parsed, so that no variable can bring structure with it, and ${NAME}
// can be a duration, number or boolean. Within { } and [ ] YAML wants quotes around it: [sh, -c, "${SCRIPT}"].
//
// # Secrets
//
// Errors show values as the file has them, never what a variable holds. They show nothing of URLs and passwords of redis, of
// its addresses that hold an @, of env, headers, fields and bodies, and of URLs that may hold a password. A [Config]
// prints without its secrets. Names, schedules and the like are not treated as secrets: take none of them from a secret
// variable.
//
// # Revisions
//
// Two files make a job with the same revision (jobs.Job.Revision) when they say the same about it: policies count by
// what they come to, and what is within exec, http, redis_stream or log as it is written, before ${NAME} is replaced.
// Comments, layout, quotes, aliases and the order of keys make no difference; a key that is written with the value of its
// default does. So replicas with other values in their environment agree, and no revision gives a variable away.
//
// # YAML
//
// A file is one document in UTF-8, of at most 64 MiB. Unknown and repeated keys are errors. Anchors, aliases and merge
// keys (<<) work; the values that aliases stand for are limited to ten times the size of the file, and some.
// Tags other than the plain ones are errors.
package config

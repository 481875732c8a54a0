package config_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
	"github.com/solotick/solotick/notify"
)

// undefined returns c without the definitions of its jobs, which must all have one;
// definition_test.go is about them.
func undefined(t *testing.T, c *config.Config) *config.Config {
	t.Helper()
	for i := range c.Jobs {
		require.NotEmpty(t, c.Jobs[i].Spec.Definition)
		c.Jobs[i].Spec.Definition, c.Jobs[i].Spec.Details = "", nil
	}
	return c
}

func noEnv(string) (string, bool) { return "", false }

func parse(t *testing.T, yaml string) *config.Config {
	t.Helper()
	c, err := config.Parse("solotick.yaml", []byte(yaml), testEnv)
	require.NoError(t, err)
	return c
}

// withJob parses a configuration of one job that has these keys besides its name and schedule.
func withJob(t *testing.T, keys string) config.Job {
	t.Helper()
	return parse(t, kind("", keys).yaml).Jobs[0]
}

func TestEveryKeyIsRead(t *testing.T) {
	c, err := load("testdata/every-key.yaml", noEnv)
	require.NoError(t, err)

	leader := defaultSpec("indexer", "")
	leader.Leader = true
	require.Equal(t, "redis://localhost:6379/0", c.Redis.URL.Reveal())
	require.Equal(t, &config.Config{
		Namespace: "billing",
		Replica:   "eu-1",
		Groups:    []string{"eu", "batch"},
		MaxRuns:   12,
		Redis: config.Redis{
			URL: config.NewSecret("redis://localhost:6379/0"), WaitReplicas: 2, FailoverGrace: 30 * time.Second,
		},
		Lease: config.Lease{TTL: 20 * time.Second},
		HTTP: config.Server{Addr: config.Address{HostPort: "0.0.0.0:8081", Given: true}, ReadOnly: true, Metrics: config.Metrics{JobHistograms: true, NeedsToken: true}, Tokens: []config.Token{
			{Name: "ops", Role: "operate", File: "/run/secrets/ops"},
			{Name: "grafana", Role: "read", Value: config.NewSecret("0123456789abcdef")},
		}},
		ShutdownGrace: 45 * time.Second,
		Log:           config.Logging{Level: slog.LevelWarn, Format: "json"},
		Tracing:       config.Tracing{Endpoint: "http://collector:4318"},
		Notifications: config.Notifications{Interval: 2 * time.Second, Confirm: time.Minute, Receivers: []notify.Receiver{
			{
				Name: "ops", Kind: "webhook", URL: "https://example.com/hook",
				Secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", Headers: map[string]string{"X-Team": "ops"},
				Template: `{"text": {{json .Text}}}`, ContentType: "application/json; charset=utf-8",
				Jobs: []string{"*", "!ping"}, Groups: []string{"eu"}, Conditions: []notify.Condition{"failed", "lost", "ok"}, Timeout: 3 * time.Second,
			},
			{Name: "duty", Kind: "pagerduty", SecretFile: "/run/secrets/duty", Timeout: 10 * time.Second},
			{Name: "chat", Kind: "feishu", URLFile: "/run/secrets/chat", Timeout: 10 * time.Second},
		}},
		Jobs: []config.Job{
			{
				Line: 45,
				Notify: config.Notify{
					Healthchecks: config.NewSecret("https://hc.example.com/ping/0b1c"),
					Sentry:       config.NewSecret("https://sentry.example.com/api/2/cron/report/0b1c/"),
					After:        3,
				},
				Spec: jobs.Spec{
					Name:          "nightly-report",
					Schedule:      "0 2 * * *",
					Timezone:      "Europe/Berlin",
					Timeout:       10 * time.Minute,
					Retry:         jobs.Retry{MaxAttempts: 3, Backoff: 2 * time.Second, MaxBackoff: 2 * time.Minute},
					Delivery:      jobs.AtMostOnce,
					MaxTakeovers:  5,
					Overlap:       jobs.Allow,
					MisfireGrace:  20 * time.Second,
					Misfire:       jobs.MisfireAll,
					CatchUpWindow: 2 * time.Hour,
					MaxCatchUp:    7,
					Jitter:        30 * time.Second,
					Rate:          jobs.Rate{Count: 2, Per: time.Hour},
					Burst:         3,
					Weight:        3,
					History:       500,
					Groups:        []string{"eu"},
					Paused:        true,
				},
				Exec: config.NewSecret(exec.Command{
					Args:      []string{"./report.sh", "--full", "5"},
					Dir:       "/srv",
					Env:       map[string]string{"LEVEL": "info", "PORT": "8080", "RATE": "1.10", "DRY": "true", "NONE": ""},
					KillGrace: 7 * time.Second,
				}),
			},
			{
				Line: 77,
				Spec: defaultSpec("ping", "@every 90s"),
				HTTP: config.NewSecret(http.Call{
					Method:  "PUT",
					URL:     "https://example.com/hook?a=b",
					Headers: map[string]string{"Authorization": "Bearer x", "x-count": "3"},
					Body:    "{\"a\": 1}\n",
					Success: []http.StatusRange{{From: 200, To: 299}, {From: 404, To: 404}},
					Timeout: 3 * time.Second,
				}),
			},
			{
				Line: 89,
				Spec: defaultSpec("hello", "*/5 * * * * *"),
				Log:  config.NewSecret(config.Log{Message: "hello"}),
			},
			{
				Line: 93,
				Spec: defaultSpec("announce", "@hourly"),
				RedisStream: config.NewSecret(config.RedisStream{
					Stream: "ticks:{eu}", MaxLen: 10000, Fields: map[string]string{"zone": "eu", "version": "2"},
				}),
			},
			{
				Line: 100,
				Spec: leader,
				Exec: config.NewSecret(exec.Command{Args: []string{"./index.sh"}, KillGrace: 5 * time.Second}),
			},
		},
	}, undefined(t, c))
}

func TestTheExampleOfTheContractIsAccepted(t *testing.T) {
	c, err := load("testdata/contract.yaml", noEnv)
	require.NoError(t, err)

	want := config.Default()
	want.Namespace, want.Groups = "billing", []string{"eu"}
	want.Redis.URL = config.NewSecret("redis://localhost:6379/0")
	want.HTTP.Addr.Given = true
	spec := defaultSpec("nightly-report", "0 2 * * *")
	spec.Timezone, spec.Timeout, spec.Retry.MaxAttempts, spec.Groups = "Europe/Berlin", 10*time.Minute, 3, []string{}
	want.Jobs = []config.Job{{Spec: spec, Line: 15, Exec: config.NewSecret(exec.Command{
		Args: []string{"./report.sh", "--full"}, Dir: "/srv", Env: map[string]string{"LEVEL": "info"}, KillGrace: 5 * time.Second,
	})}}
	require.Equal(t, want, undefined(t, c))
}

func defaultSpec(name, schedule string) jobs.Spec {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule = name, schedule
	return spec
}

func TestOnlyJobsAreRequired(t *testing.T) {
	want := config.Default()
	want.Jobs = []config.Job{{Spec: defaultSpec("a", "@daily"), Line: 1, Log: config.NewSecret(config.Log{Message: "m"})}}
	require.Equal(t, want, undefined(t, parse(t, aJob)))
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	require.Equal(t, &config.Config{
		Namespace:     "default",
		Lease:         config.Lease{TTL: 15 * time.Second},
		HTTP:          config.Server{Addr: config.Address{HostPort: "127.0.0.1:8080"}},
		ShutdownGrace: 30 * time.Second,
		Log:           config.Logging{Level: slog.LevelInfo, Format: "text"},
		Notifications: config.Notifications{Interval: 5 * time.Second, Confirm: 30 * time.Second},
	}, config.Default())

	require.Equal(t, config.NewSecret(exec.Command{Args: []string{"x"}, KillGrace: 5 * time.Second}), withJob(t, "exec: {command: [x]}").Exec)
	require.Equal(t, config.NewSecret(http.Call{
		Method: "GET", URL: "http://h", Success: []http.StatusRange{{From: 200, To: 299}}, Timeout: 30 * time.Second,
	}), withJob(t, "http: {url: http://h}").HTTP)
}

func TestRequestsWithABodyArePosts(t *testing.T) {
	require.Equal(t, "POST", withJob(t, "http: {url: http://h, body: x}").HTTP.Reveal().Method)
	require.Equal(t, "GET", withJob(t, "http: {url: http://h, body: ''}").HTTP.Reveal().Method)
	require.Equal(t, "PATCH", withJob(t, "http: {method: patch, url: http://h, body: x}").HTTP.Reveal().Method)
	require.Equal(t, "GET", withJob(t, "http: {url: http://h, body: x, method: GET}").HTTP.Reveal().Method)
}

func TestWrittendefaultAddressWasAskedFor(t *testing.T) {
	require.False(t, parse(t, aJob).HTTP.Addr.Given)
	require.Equal(t, config.Server{Addr: config.Address{HostPort: "127.0.0.1:8080", Given: true}}, parse(t, "http: {addr: '127.0.0.1:8080'}\n"+aJob).HTTP)
}

// acceptedFiles have values at the edges of their ranges.
func acceptedFiles() (files []string) {
	for _, yaml := range []string{
		"lease: {ttl: 500ms}", "lease: {ttl: 24h}", "shutdown_grace: 0s", "shutdown_grace: 0", "shutdown_grace: '1m30s'",
		"http: {addr: ':8080'}", "http: {addr: '[::1]:0'}", "http: {addr: 'localhost:65535'}", "http: {addr: '0.0.0.0:80'}",
		"redis: {url: redis://localhost}", "redis: {url: 'rediss://u:p%23@h:6380/15?x=y'}", "redis: {url: 'unix:///run/redis.sock?db=1'}",
		"redis: {url: 'redis://[::1]:6379/'}", "redis: {url: '${UNSET:-redis://h}'}",
		"redis: {url: redis://h, wait_replicas: 16, failover_grace: 25h}\nlease: {ttl: 2s}",
		"redis: {url: redis://h, wait_replicas: 0, failover_grace: 0s}\nlease: {ttl: 500ms}",
		"lease: {ttl: 24h}\nredis: {url: redis://h, failover_grace: 24h}", "redis: {url: redis://h, failover_grace: 1s}\nlease: {ttl: 1s}",
		"log: {level: error, format: json}", "replica: 12", "namespace: true", "namespace: 1.10", "groups: []", "replica: ''",
		"namespace: !!str 12", "lease: !!map {ttl: 1s}", "groups: !!seq [a]", "namespace: '${UNSET:-x}'",
	} {
		files = append(files, yaml+"\n"+aJob)
	}
	for _, keys := range []string{
		"timeout: 0s", "retry: {max_attempts: 1, backoff: 0s, max_backoff: 0s}", "max_takeovers: 0", "misfire_grace: 0s",
		"catch_up_window: 0s", "max_catch_up: 0", "jitter: 23h59m59s", "timezone: ''", "overlap: queue", "overlap: replace", "overlap: ${QUEUE}",
		"rate: 1/1ms", "rate: 1/8760h", "rate: ''", "rate: '${UNSET:-1/10m}'", "burst: 1", "rate: 1/10m\nburst: '${FIVE}'", "leader: false", "timezone: UTC", "paused: false",
		"max_catch_up: '${FIVE}'", "groups: ['${UNSET:-eu}']",
	} {
		files = append(files, job("", keys).yaml)
	}
	files = append(files, "jobs: [{name: a, schedules: stored, jitter: 1s, log: {message: m}}]", "jobs: [{name: a, schedules: '${UNSET:-stored}', log: {message: m}}]")
	for _, keys := range []string{
		"exec: {command: [x, ''], kill_grace: 0s, env: {}}", "http: {url: 'HTTPS://u:p@h:65535/x?y#z', success: [200, 599, 200-599], timeout: 1ns}",
		"redis_stream: {stream: 's', maxlen: 0, fields: {}}", "redis_stream: {stream: 'a}b{c}', maxlen: 2147483647}",
		"redis_stream: {stream: 7, maxlen: '${FIVE}', fields: {Job: '${SECRET}', 'a b': '', 'x=': 1.10}}",
		"http: {url: http://h, headers: {host: 'example.com:80', X: \"a\\tb\", 'ZazA09!#$%&*+-.^_|~': 1}}", "log: {message: ' x '}", "log: {message: \ufffd}",
	} {
		files = append(files, kind("", keys).yaml)
	}
	return files
}

func TestValuesAtTheEdgesAreAccepted(t *testing.T) {
	for _, file := range acceptedFiles() {
		t.Run(file, func(t *testing.T) { parse(t, file) })
	}
}

func TestKeysWithoutValuesAreAbsent(t *testing.T) {
	want := config.Default()
	want.Jobs = []config.Job{{Spec: defaultSpec("a", "@daily"), Line: 10, Log: config.NewSecret(config.Log{Message: "m"})}}
	have := parse(t, "namespace:\nreplica: ~\ngroups: null\nlease: {ttl: }\nhttp:\nshutdown_grace:\nlog:\ndefaults: {timeout: , retry: ~}\njobs:\n"+
		"- {name: a, schedule: '@daily', log: {message: m}, timeout: , groups: ~, retry: {backoff: }}\n")
	require.Equal(t, want, undefined(t, have))
}

func TestAQuotedNullIsAString(t *testing.T) {
	require.Equal(t, "null", parse(t, "namespace: 'null'\n"+aJob).Namespace)
	require.Equal(t, map[string]string{"A": "~"}, withJob(t, "exec: {command: [x], env: {A: '~'}}").Exec.Reveal().Env)
}

func TestDefaultsApplyUnlessTheJobSaysOtherwise(t *testing.T) {
	c := undefined(t, parse(t, `
jobs:
- {name: a, schedule: '@daily', log: {message: m}}
- {name: b, schedule: '@daily', log: {message: m}, timeout: 1s, retry: {backoff: 3s}, groups: [], paused: false, timezone: ""}
- {name: c, schedule: '@daily', log: {message: m}, retry: {}, groups: [us]}
defaults: {timezone: Europe/Berlin, timeout: 5m, retry: {max_attempts: 4, backoff: 2s}, groups: [eu], paused: true}
`))
	a := defaultSpec("a", "@daily")
	a.Timezone, a.Timeout, a.Groups, a.Paused = "Europe/Berlin", 5*time.Minute, []string{"eu"}, true
	a.Retry.MaxAttempts, a.Retry.Backoff = 4, 2*time.Second
	b, d := a, a
	b.Name, b.Timezone, b.Timeout, b.Groups, b.Paused = "b", "", time.Second, []string{}, false
	b.Retry.Backoff = 3 * time.Second
	d.Name, d.Groups = "c", []string{"us"}
	require.Equal(t, []jobs.Spec{a, b, d}, []jobs.Spec{c.Jobs[0].Spec, c.Jobs[1].Spec, c.Jobs[2].Spec})
}

func TestDefaultsMayDependOnJobs(t *testing.T) {
	for _, retries := range [][2]string{{"backoff: 5m", "max_backoff: 5m"}, {"max_backoff: 5ms", "backoff: 5ms"}} {
		parse(t, "defaults: {retry: {"+retries[0]+"}}\njobs: [{name: a, schedule: '@daily', log: {message: m}, retry: {"+retries[1]+"}}]\n")
	}
}

func TestJobsDoNotShareDefaultGroups(t *testing.T) {
	c := parse(t, "defaults: {groups: [eu]}\njobs: [{name: a, schedule: '@daily', log: {message: m}}, {name: b, schedule: '@daily', log: {message: m}}]\n")
	c.Jobs[0].Spec.Groups[0] = "changed"
	require.Equal(t, []string{"eu"}, c.Jobs[1].Spec.Groups)
}

func TestByteOrderMarksAndLineEndsChangeNothing(t *testing.T) {
	want := parse(t, "namespace: x\n"+aJob)
	require.Equal(t, want, parse(t, "\ufeffnamespace: x\n"+aJob))
	require.Equal(t, want, parse(t, "namespace: x\r\n"+aJob))
	require.Equal(t, want, parse(t, "namespace: x\n"+aJob+"...\n"))
}

func TestLeaderTasksTakeNoDefaultsOfOthers(t *testing.T) {
	c := undefined(t, parse(t, `
defaults: {timeout: 5m, jitter: 10s, rate: 1/1h, burst: 2, groups: [eu], retry: {backoff: 3s}}
jobs:
- {name: a, leader: true, log: {message: m}}
- {name: b, leader: false, schedule: "@daily", log: {message: m}}
- {name: c, leader: "${TRUE}", timeout: 0s, jitter: 0s, rate: "", log: {message: m}}
`))
	want := defaultSpec("a", "")
	want.Leader, want.Groups, want.Retry.Backoff, want.Burst = true, []string{"eu"}, 3*time.Second, 2
	require.Equal(t, want, c.Jobs[0].Spec)
	require.Equal(t, 5*time.Minute, c.Jobs[1].Spec.Timeout)
	require.Equal(t, 10*time.Second, c.Jobs[1].Spec.Jitter)
	require.Equal(t, jobs.Rate{Count: 1, Per: time.Hour}, c.Jobs[1].Spec.Rate)
	want.Name = "c"
	require.Equal(t, want, c.Jobs[2].Spec)
}

func TestSchedulesThatLieInTheStoreAreTheJobsSchedule(t *testing.T) {
	c := parse(t, "jobs: [{name: a, schedules: stored, max_concurrent: 7, log: {message: m}}, {name: b, schedule: '@stored', log: {message: m}}]")
	require.Equal(t, "@stored", c.Jobs[0].Spec.Schedule)
	require.Equal(t, 7, c.Jobs[0].Spec.MaxConcurrent)
	require.Equal(t, "@stored", c.Jobs[1].Spec.Schedule)
}

func TestStreamFieldsMayUseTheEnvironment(t *testing.T) {
	require.Equal(t, config.NewSecret(config.RedisStream{Stream: "s-5", MaxLen: 5, Fields: map[string]string{"a": secret, "b": "1.10", "c": "${x"}}),
		withJob(t, "redis_stream: {stream: 's-${FIVE}', maxlen: '${FIVE}', fields: {a: '${SECRET}', b: 1.10, c: '$${x'}}").RedisStream)
	require.Equal(t, config.NewSecret(config.RedisStream{Stream: "s"}), withJob(t, "redis_stream: {stream: s}").RedisStream)
}

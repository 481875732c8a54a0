package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
)

func TestReferencesAreReplacedAsByAShell(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "a", "EMPTY": "", "LOOK": "${A} $${A} }", "lower_1": "l"}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"${A}":                "a",
		"x${A}y${A}z":         "xayaz",
		"${lower_1}":          "l",
		"[${EMPTY}]":          "[]",
		"${A:-b}":             "a",
		"${EMPTY:-b}":         "b",
		"${UNSET:-b}":         "b",
		"[${UNSET:-}]":        "[]",
		"${UNSET:-a:-b}":      "a:-b",
		"${UNSET:-$A {x}":     "$A {x",
		"${UNSET:-$$}":        "$$",
		"${LOOK}":             "${A} $${A} }",
		"$${A}":               "${A}",
		"$$${A}":              "$${A}",
		"$$$${A}":             "$$${A}",
		"$$ ${A}":             "$$ a",
		"$A $ {A} $(A) $":     "$A $ {A} $(A) $",
		"$${A} ${A} $${":      "${A} a ${",
		"$${A:-${A}}":         "${A:-a}",
		"tab\\t \"${A}\" 'x'": "tab\\t \"a\" 'x'",
	} {
		t.Run(text, func(t *testing.T) {
			yaml := kind("", "log:\n  message: |-\n    "+text).yaml
			c, err := config.Parse("f", []byte(yaml), env)
			require.NoError(t, err)
			require.Equal(t, want, c.Jobs[0].Log.Reveal().Message)
		})
	}
}

func TestReferencesAreReplacedInEveryKindOfValue(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{
			"S": "s", "TTL": "20s", "N": "7", "YES": "true", "CODE": "404", "ADDR": "127.0.0.1:0", "URL": "redis://h", "GET": "get",
		}[name]
		return value, ok
	}
	c, err := config.Parse("f", []byte(`
namespace: ${S}
replica: ${S}-${N}
groups: ["${S}"]
redis: {url: "${URL}/${N}"}
lease:
  ttl: ${TTL}
http:
  addr: ${ADDR}
defaults:
  timeout: ${TTL}
jobs:
- name: job-${N}
  schedule: "${N} * * * *"
  max_catch_up: ${N}
  paused: ${YES}
  retry: {max_attempts: "${N}"}
  exec: {command: ["${S}"], dir: "/${S}", env: {"${S}": "${S}"}, kill_grace: "${TTL}"}
- name: request
  schedule: "@daily"
  http: {method: "${GET}", url: "http://${S}", headers: {X: "${S}"}, body: "${S}", success: ["${CODE}"], timeout: "${TTL}"}
`), env)
	require.NoError(t, err)
	undefined(t, c)
	require.Equal(t, "s", c.Namespace)
	require.Equal(t, "s-7", c.Replica)
	require.Equal(t, []string{"s"}, c.Groups)
	require.Equal(t, "redis://h/7", c.Redis.URL.Reveal())
	require.Equal(t, 20*time.Second, c.Lease.TTL)
	require.Equal(t, "127.0.0.1:0", c.HTTP.Addr.HostPort)
	spec := defaultSpec("job-7", "7 * * * *")
	spec.Timeout, spec.MaxCatchUp, spec.Paused, spec.Retry.MaxAttempts = 20*time.Second, 7, true, 7
	require.Equal(t, spec, c.Jobs[0].Spec)
	require.Equal(t, config.NewSecret(exec.Command{
		Args: []string{"s"}, Dir: "/s", Env: map[string]string{"${S}": "s"}, KillGrace: 20 * time.Second,
	}), c.Jobs[0].Exec)
	require.Equal(t, config.NewSecret(http.Call{
		Method: "GET", URL: "http://s", Headers: map[string]string{"X": "s"}, Body: "s",
		Success: []http.StatusRange{{From: 404, To: 404}}, Timeout: 20 * time.Second,
	}), c.Jobs[1].HTTP)
}

func TestAVariableCannotBringYAML(t *testing.T) {
	for _, text := range []string{"[a, b]", "x\npaused: true", "*alias", "~", "!!int 1", "# x", "\x00\xff"} {
		env := func(string) (string, bool) { return text, true }
		c, err := config.Parse("f", []byte(kind("", "log: {message: '${X}'}\nmax_catch_up: 3").yaml), env)
		require.NoError(t, err)
		require.Equal(t, text, c.Jobs[0].Log.Reveal().Message)
		require.False(t, c.Jobs[0].Spec.Paused)
	}
}

func TestWithoutAnEnvironmentEveryVariableIsUnset(t *testing.T) {
	c, err := config.Parse("f", []byte("namespace: ${HOME:-none}\n"+aJob), nil)
	require.NoError(t, err)
	require.Equal(t, "none", c.Namespace)
	_, err = config.Parse("f", []byte("namespace: ${HOME}\n"+aJob), nil)
	require.ErrorContains(t, err, "HOME, which is not set")
}

package config_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// revisions are those of the jobs that a file makes, by their names.
func revisions(t *testing.T, yaml string, env map[string]string) map[string]string {
	t.Helper()
	c, err := config.Parse("f", []byte(yaml), func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	require.NoError(t, err)
	all := map[string]string{}
	for _, entry := range c.Jobs {
		job, err := jobs.FromSpec(entry.Spec, func(context.Context, jobs.Run) error { return nil })
		require.NoError(t, err)
		all[job.Name()] = job.Revision()
	}
	return all
}

const defined = `
jobs:
- name: report
  schedule: "0 2 * * *"
  exec: {command: [sh, -c, "echo 1"], dir: /srv, env: {A: 1, B: "${TOKEN}"}, kill_grace: 5s}
- name: hook
  schedule: "@daily"
  http: {method: post, url: "https://${HOST}/x", headers: {A: b, C: d}, body: "one\ntwo\n", success: [200, 404], timeout: 3s}
- name: entry
  schedule: "@daily"
  redis_stream: {stream: s, maxlen: 5, fields: {a: b}}
- name: hello
  schedule: "@daily"
  log: {message: "hello, world"}
`

func TestLayoutMakesNoRevision(t *testing.T) {
	env := map[string]string{"TOKEN": "x", "HOST": "example.com"}
	require.Equal(t, revisions(t, defined, env), revisions(t, `# another file
namespace: other
jobs:
  - log:
      message: >-   # folded
        hello,
        world
    schedule: '@daily'
    name: hello
  - name: 'report'
    exec:
      kill_grace: 5s
      env:
        "B": '${TOKEN}'
        A: "1"          # a string whatever it looks like
      dir: &srv "/srv"
      command:
        - sh
        - "-c"
        - echo 1
    schedule: 0 2 * * *
    timeout:
  - &entry
    redis_stream: {fields: &fields {a: b}, maxlen: 5, stream: s}
    name: entry
    schedule: "@daily"
  - schedule: "@daily"
    http:
      url: https://${HOST}/x
      success: ["200", 404]
      timeout: "3s"
      body: |
        one
        two
      <<: {method: post, url: https://ignored}
      headers: {C: d, <<: {A: b}}
    name: hook
`, env))
}

func TestEveryKeyOfAKindMakesARevision(t *testing.T) {
	env := map[string]string{"TOKEN": "x", "HOST": "example.com"}
	before := revisions(t, defined, env)
	for _, change := range [][3]string{
		{"report", "echo 1", "echo 2"}, {"report", "[sh, -c,", "[sh, -x, -c,"}, {"report", "/srv", "/var"}, {"report", "A: 1", "A: 2"},
		{"report", "A: 1", "AA: 1"}, {"report", "${TOKEN}", "${TOKEN:-}"}, {"report", "kill_grace: 5s", "kill_grace: 6s"},
		{"report", ", dir: /srv", ""}, {"report", "[sh, -c, \"echo 1\"]", "[sh, \"-c echo 1\"]"},
		{"hook", "post", "put"}, {"hook", "/x", "/y"}, {"hook", "C: d", "C: e"}, {"hook", "two", "three"},
		{"hook", "200, 404", "404, 200"}, {"hook", "timeout: 3s", "timeout: 4s"},
		{"entry", "stream: s", "stream: t"}, {"entry", "maxlen: 5", "maxlen: 6"}, {"entry", "{a: b}", "{a: c}"},
		{"hello", "hello, world", "hello"},
		{"hello", "log: {message: \"hello, world\"}", "exec: {command: [echo, \"hello, world\"]}"},
	} {
		require.Equal(t, 1, strings.Count(defined, change[1]), change[1])
		after := revisions(t, strings.Replace(defined, change[1], change[2], 1), env)
		for name := range before {
			if name == change[0] {
				require.NotEqual(t, before[name], after[name], "%s: %q to %q", name, change[1], change[2])
			} else {
				require.Equal(t, before[name], after[name], "%s: %q to %q", name, change[1], change[2])
			}
		}
	}
}

func TestTheEnvironmentMakesNoRevision(t *testing.T) {
	require.Equal(t, revisions(t, defined, map[string]string{"TOKEN": "x", "HOST": "example.com"}),
		revisions(t, defined, map[string]string{"TOKEN": "hunter2", "HOST": "example.org"}))
}

func TestKindsThatSayTheSameDiffer(t *testing.T) {
	c := parse(t, `
jobs:
- {name: a, schedule: "@daily", exec: {command: [x]}}
- {name: b, schedule: "@daily", exec: {command: [x], kill_grace: }}
- {name: c, schedule: "@daily", http: {url: "http://h"}}
`)
	require.Equal(t, c.Jobs[0].Spec.Definition, c.Jobs[1].Spec.Definition, "a key without a value is as good as absent")
	require.True(t, strings.HasPrefix(c.Jobs[0].Spec.Definition, "exec "), c.Jobs[0].Spec.Definition)
	require.True(t, strings.HasPrefix(c.Jobs[2].Spec.Definition, "http "), c.Jobs[2].Spec.Definition)
}

func TestADefinitionGivesNothingOfTheFileAway(t *testing.T) {
	c := parse(t, strings.ReplaceAll(secretive, "${SECRET}", secret))
	require.Equal(t, secret, c.Jobs[2].Log.Reveal().Message)
	require.NotContains(t, fmt.Sprintf("%+v", c), secret)
}

func TestDefinitionsCountNoAliasTwice(t *testing.T) {
	var b strings.Builder
	words := strings.TrimSuffix(strings.Repeat("x, ", 3_000), ", ")
	fmt.Fprintf(&b, "jobs:\n- {name: a, schedule: '@daily', exec: &e {command: [%s], env: {A: b}}}\n", words)
	for i := range 13 { // with 39,000 of the 40,800 values that these nodes may stand for
		fmt.Fprintf(&b, "- {name: b%d, schedule: '@daily', exec: *e}\n", i)
	}
	require.Len(t, parse(t, b.String()).Jobs, 14)
}

package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func TestVariablesOfSecretsAreKnown(t *testing.T) {
	env := map[string]string{"URL": "redis://h", "TEXT": "sixteen-or-more-characters", "HOOK": "https://example.com/hook", "HOME": "/h", "PATH": "/p"}
	const job = "\njobs:\n- {name: a, schedule: '@daily', exec: {command: [\"${TEXT}\"], dir: \"${TEXT}\"}}\n"
	for text, want := range map[string][]string{
		"redis: {url: '${URL}/${DB:-0}'}" + job:                                                      {"DB", "URL"},
		"redis: {url: redis://h, username: '${HOOK}', password: '${TEXT}'}" + job:                    {"TEXT"},
		"redis: {master: m, addrs: ['h:1'], sentinel_password: '${TEXT}'}" + job:                     {"TEXT"},
		"redis: {quorum: ['${URL}', 'redis://h2', 'redis://h3']}" + job:                              {"URL"},
		"store: {url: 'sqlite:${TEXT}'}" + job:                                                       {"TEXT"},
		"http: {tokens: [{name: t, role: read, token: '${TEXT}'}]}" + job:                            {"TEXT"},
		"http: {tokens: [{name: t, role: read, token_file: '${TEXT}'}]}" + job:                       nil,
		"notifications: {receivers: [{name: r, kind: slack, url: '${HOOK}'}]}" + job:                 {"HOOK"},
		"replica: '${TEXT}'" + job:                                                                   nil,
		job + "- {name: b, schedule: '@daily', notify: {sentry: '${HOOK}'}, log: {message: x}}":      {"HOOK"},
		job + "- {name: b, schedule: '@daily', exec: {command: [x], env: {B: '${TEXT}'}}}":           {"TEXT"},
		job + "- {name: b, schedule: '@daily', http: {url: '${HOOK}', headers: {H: '${TEXT}'}}}":     {"HOOK", "TEXT"},
		job + "- {name: b, schedule: '@daily', http: {url: 'https://h/${HOOK}', body: '${TEXT}'}}":   {"HOOK", "TEXT"},
		job + "- {name: b, schedule: '@daily', redis_stream: {stream: s, fields: {f: '${TEXT}'}}}":   {"TEXT"},
		job + "- {name: b, schedule: '@daily', log: {message: '${TEXT}'}}":                           nil,
		job + "- {name: b, schedule: '@daily', exec: {command: [x], env: {A: '${HOME}:${PATH}'}}}":   nil,
		job + "- {name: b, schedule: '@daily', exec: {command: [x], env: {A: '$${TEXT}', B: '$B'}}}": nil,
	} {
		c, err := config.Parse("f", []byte(text), func(name string) (string, bool) { value, ok := env[name]; return value, ok })
		require.NoError(t, err, text)
		require.ElementsMatch(t, want, c.SecretVariables, text)
	}
}

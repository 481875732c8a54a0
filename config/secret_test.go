package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

const secretive = `
redis: {url: "redis://user:${SECRET}@localhost:6379/0?password=${SECRET}"}
jobs:
- name: a
  schedule: "@daily"
  exec: {command: [curl, "${SECRET}"], dir: "/${SECRET}", env: {TOKEN: "${SECRET}"}}
- name: b
  schedule: "@daily"
  http: {url: "https://u:${SECRET}@example.com/${SECRET}?${SECRET}", headers: {Authorization: "Bearer ${SECRET}"}, body: "${SECRET}"}
- name: c
  schedule: "@daily"
  log: {message: "${SECRET}"}
- name: d
  schedule: "@daily"
  redis_stream: {stream: "${SECRET}", fields: {f: "${SECRET}"}}
`

func TestAConfigPrintsWithoutItsSecrets(t *testing.T) {
	c := parse(t, secretive)
	require.Contains(t, c.Redis.URL.Reveal(), secret)
	require.Equal(t, secret, c.Jobs[2].Log.Reveal().Message)
	require.Equal(t, secret, c.Jobs[3].RedisStream.Reveal().Fields["f"])

	for _, v := range []any{
		c, *c, c.Redis, &c.Redis, c.Redis.URL, &c.Redis.URL, c.Jobs, c.Jobs[0], &c.Jobs[1],
		c.Jobs[0].Exec, &c.Jobs[0].Exec, c.Jobs[1].HTTP, &c.Jobs[1].HTTP, c.Jobs[2].Log, &c.Jobs[2].Log,
		c.Jobs[3].RedisStream, &c.Jobs[3].RedisStream,
		map[string]any{"c": c}, []any{c.Redis, c.Jobs},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			require.NotContains(t, fmt.Sprintf(verb, v), secret, "%s of %T", verb, v)
			require.NotContains(t, fmt.Sprintf(verb, v), fmt.Sprintf("%x", secret), "%s of %T", verb, v)
		}
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, string(text), secret, "JSON of %T", v)

		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).Info("configured", "value", v, slog.Group("group", "value", v))
		}
		require.Contains(t, log.String(), "configured")
		require.NotContains(t, log.String(), secret, "log of %T", v)
	}
}

func TestUnexportedFieldsHideSecretsToo(t *testing.T) {
	c := parse(t, secretive)
	// fmt ignores the methods of what it finds there.
	type holder struct {
		config *config.Config
		redis  config.Redis
		job    config.Job
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		require.NotContains(t, fmt.Sprintf(verb, holder{c, c.Redis, c.Jobs[0]}), secret, verb)
	}
	for _, verb := range []string{"%s", "%q"} { // which are not for numbers, but may be used all the same
		require.NotContains(t, fmt.Sprintf(verb, struct{ redis config.Redis }{c.Redis}), secret, verb)
	}
}

func TestAPrintedConfigStillSaysWhatIsConfigured(t *testing.T) {
	c := parse(t, secretive)
	printed := fmt.Sprintf("%+v", c)
	for _, part := range []string{
		"Namespace:default", "URL:(hidden)", "TTL:15s", "Name:a", "Schedule:@daily", "exec of 2 words, env [TOKEN]",
		"http POST over https, headers [Authorization]", "log of 7 bytes", "redis_stream, fields [f]",
	} {
		require.Contains(t, printed, part)
	}
	require.Contains(t, fmt.Sprintf("%+v", config.Default()), "URL: ", "no URL prints as none")
}

func TestASecretRevealsWhatItWasMadeFrom(t *testing.T) {
	require.Equal(t, "x", config.NewSecret("x").Reveal())
	require.Empty(t, config.Secret{}.Reveal())
	require.Equal(t, config.Secret{}, config.NewSecret(""))
	require.Empty(t, config.Secret{}.String())
	require.Equal(t, "(hidden)", config.NewSecret("x").String())
}

package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestDetailsShowNoSecret(t *testing.T) {
	for work, want := range map[string]map[string]string{
		"exec: {command: [sh, -c, 'a && b'], dir: /srv, env: {A: s3cret, B: s3cret}}": {
			"exec.command": `sh -c "a && b"`, "exec.dir": "/srv", "exec.env.A": Hidden, "exec.env.B": Hidden,
		},
		"exec: {command: [psql, 'postgres://me:s3cret@db/x', --password, s3cret, '--token=s3cret', -p, s3cret, 'API_KEY=s3cret', '-H', 'Authorization: Bearer s3cret']}": {
			"exec.command": `psql postgres://db/` + Hidden + ` --password ` + Hidden + ` --token=` + Hidden + ` -p ` + Hidden + ` API_KEY=` + Hidden + ` -H "Authorization: ` + Hidden + `"`,
		},
		"http: {url: 'https://me:s3cret@hooks.example.com/s3cret?s3cret#s3cret', method: PUT, headers: {X: s3cret}, body: s3cret}": {
			"http.url": "https://hooks.example.com/" + Hidden, "http.method": "PUT", "http.headers.X": Hidden, "http.body": Hidden,
		},
		"redis_stream: {stream: s, maxlen: 5, fields: {a: s3cret}}": {
			"redis_stream.stream": "s", "redis_stream.maxlen": "5", "redis_stream.fields.a": Hidden,
		},
		"log: {message: 'see https://me:s3cret@h'}": {"log.message": "see https://h/" + Hidden},
	} {
		cfg, err := Parse("f", []byte("redis: {url: redis://h}\njobs:\n- {name: j, schedule: '@daily', "+work+"}\n"), nil)
		require.NoError(t, err, work)
		require.Equal(t, jobs.Details(want), cfg.Jobs[0].Spec.Details, work)
	}
}

func TestDetailsShowNamesOfVariablesOnly(t *testing.T) {
	env := func(string) (string, bool) { return "s3cret", true }
	cfg, err := Parse("f", []byte("jobs:\n- {name: j, schedule: '@daily', exec: {command: [x, '${PASSWORD}']}}\n"), env)
	require.NoError(t, err)
	require.Equal(t, jobs.Details{"exec.command": "x ${PASSWORD}"}, cfg.Jobs[0].Spec.Details)
}

package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

// secret is in every variable of the tests' environment that errors must not show.
const secret = "hunter2"

func testEnv(name string) (string, bool) {
	value, ok := map[string]string{
		"SECRET": secret, "EMPTY": "", "BARE": "30", "FIVE": "5", "NEG": "-5s", "BAD_NAME": "-" + secret,
		"INJECT": "x\npaused: true", "QUEUE": "queue", "NUL": secret + "\x00", "LINES": secret + "\n" + secret, "MINUTE": "1m", "TRUE": "true",
		"REDIS": "http://:" + secret + "@localhost",
	}[name]
	return value, ok
}

// bad is a configuration in which each § stands where an error is due, and the errors in their
// order.
type bad struct {
	name string
	yaml string
	want []string // each begins with the field; the parts that … separates must follow each other; $ is the end
}

const aJob = "jobs: [{name: a, schedule: '@daily', log: {message: m}}]\n"

// top makes a configuration of keys at the top level.
func top(name, yaml string, want ...string) bad {
	return bad{name, yaml + "\n" + aJob, want}
}

// job makes a configuration of a job's keys besides name, schedule and log.
func job(name, yaml string, want ...string) bad {
	return bare(name, "name: a\nschedule: '@daily'\nlog: {message: m}\n"+yaml, want...)
}

// kind makes a configuration of a job's keys besides name and schedule.
func kind(name, yaml string, want ...string) bad {
	return bare(name, "name: a\nschedule: '@daily'\n"+yaml, want...)
}

func bare(name, yaml string, want ...string) bad {
	return bad{name, "jobs:\n  - " + strings.ReplaceAll(yaml, "\n", "\n    ") + "\n", want}
}

func raw(name, yaml string, want ...string) bad { return bad{name, yaml, want} }

// unmark takes the marks out of a configuration and returns where they stood.
func unmark(marked string) (yaml string, positions []string) {
	line, column := 1, 1
	var b strings.Builder
	for i, c := range marked {
		size := len(string(c))
		if c == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(marked[i:]) // 1 where a byte is not UTF-8
		}
		switch c {
		case '§':
			positions = append(positions, fmt.Sprintf("%d:%d", line, column))
			continue
		case '\n':
			line, column = line+1, 1
		case '\ufeff':
			if line > 1 || column > 1 {
				column++
			}
		default:
			column++
		}
		b.WriteString(marked[i : i+size])
	}
	return b.String(), positions
}

func TestEveryFaultIsReportedWhereItIs(t *testing.T) {
	var table []bad
	for _, part := range faultTables {
		table = append(table, part...)
	}
	require.GreaterOrEqual(t, len(table), 120)
	names := map[string]bool{}
	for _, test := range table {
		require.False(t, names[test.name], "two tests are named %q", test.name)
		names[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			yaml, positions := unmark(test.yaml)
			require.Len(t, positions, len(test.want), "the table: one § for each error")

			c, err := config.Parse("solotick.yaml", []byte(yaml), testEnv)
			require.Nil(t, c)
			var errs config.Errors
			require.ErrorAs(t, err, &errs, yaml)
			require.Len(t, errs, len(test.want), "%s\n%v", yaml, err)
			for i, want := range test.want {
				message := errs[i].Error()
				start := "solotick.yaml:" + positions[i] + ": "
				require.True(t, strings.HasPrefix(message, start), "%s\nwant %s\nhave %s", yaml, start, message)
				rest := strings.TrimPrefix(message, start)
				want, toTheEnd := strings.CutSuffix(want, "$")
				for n, part := range strings.Split(want, "…") {
					at := strings.Index(rest, part)
					require.True(t, n == 0 && at == 0 || n > 0 && at >= 0, "%s\nwant %s\nhave %s", yaml, want, message)
					rest = rest[at+len(part):]
				}
				require.True(t, !toTheEnd || rest == "", "%s\nwant the end of %s\nhave %s", yaml, want, message)
				require.NotContains(t, message, "\n")
			}
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, fmt.Sprintf("%+v %#v", errs, err), secret)
		})
	}
}

func TestALongValueIsCutInErrors(t *testing.T) {
	shown := func(value string) string {
		_, err := config.Parse("f", []byte("namespace: "+value+"\n"+aJob), nil)
		var errs config.Errors
		require.ErrorAs(t, err, &errs)
		return errs[0].Value
	}
	require.Equal(t, `"`+strings.Repeat("é", 80)+`"`, shown(strings.Repeat("é", 80)))
	require.Equal(t, `"`+strings.Repeat("é", 80)+`…"`, shown(strings.Repeat("é", 81)))
}

func TestErrorsNameTheirPartsAndTheirWhole(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte("lease: {ttl: 1ms}\nshutdown_grace: 5\n"), nil)
	require.EqualError(t, err, strings.Join([]string{
		`f.yaml:1:1: jobs: is missing; add a list of jobs, each with a name, a schedule and one of exec, http, redis_stream, log`,
		`f.yaml:1:14: lease.ttl: "1ms" must be at least 500ms`,
		`f.yaml:2:17: shutdown_grace: "5" needs a unit: write 5s for seconds, or use ms, m or h`,
	}, "\n"))

	one, ok := errors.AsType[*config.Error](err)
	require.True(t, ok)
	require.Equal(t, "jobs", one.Field)
	var all config.Errors
	require.ErrorAs(t, err, &all)
	require.Equal(t, &config.Error{
		File: "f.yaml", Line: 1, Column: 14, Field: "lease.ttl", Value: `"1ms"`, Rule: "must be at least 500ms",
	}, all[1])
}

package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

// FuzzParse holds that no file makes Parse panic; that a file is judged the same way each time;
// that every error has a place in the file, in order, on one line, without any variable's value;
// and that accepted files keep the rules.
func FuzzParse(f *testing.F) {
	for _, part := range faultTables {
		for _, test := range part {
			yaml, _ := unmark(test.yaml)
			f.Add([]byte(yaml))
		}
	}
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(secretive))

	env := func(name string) (string, bool) {
		if strings.HasPrefix(name, "U") {
			return "", false
		}
		return "hunter2-of-" + name, true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f.yaml", data, env)
		again, errAgain := config.Parse("f.yaml", data, env)
		require.Equal(t, c, again)
		require.Equal(t, err, errAgain)
		if err != nil {
			require.Nil(t, c)
			checkErrors(t, data, err)
			return
		}
		require.NotEmpty(t, c.Jobs)
		for _, job := range c.Jobs {
			require.NoError(t, job.Spec.Validate())
			require.Positive(t, job.Line)
			kinds := 0
			for _, is := range []bool{job.Exec.IsSet(), job.HTTP.IsSet(), job.RedisStream.IsSet(), job.Log.IsSet()} {
				if is {
					kinds++
				}
			}
			require.Equal(t, 1, kinds)
		}
	})
}

func checkErrors(t *testing.T, data []byte, err error) {
	t.Helper()
	errs, ok := errors.AsType[config.Errors](err)
	require.True(t, ok)
	require.NotEmpty(t, errs)
	line, column := 0, 0
	for _, e := range errs {
		require.Positive(t, e.Line)
		require.Positive(t, e.Column)
		require.True(t, e.Line > line || e.Line == line && e.Column >= column, "%v", err)
		line, column = e.Line, e.Column
		require.NotEmpty(t, e.Rule)
		require.NotContains(t, e.Error(), "\n")
	}
	if !strings.Contains(string(data), "hunter2") {
		require.NotContains(t, fmt.Sprintf("%v %+v", err, errs), "hunter2")
	}
}

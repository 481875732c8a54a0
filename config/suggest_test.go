package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// places are the mappings that suggestions name, each with an unknown key in it whose error lists the known ones.
var places = map[string]string{
	"exec, in a job":                 "jobs: [{exec: {zzzzzzzzzz: 1}}]",
	"http, in a job":                 "jobs: [{http: {zzzzzzzzzz: 1}}]",
	"log, in a job":                  "jobs: [{log: {zzzzzzzzzz: 1}}]",
	"redis_stream, in a job":         "jobs: [{redis_stream: {zzzzzzzzzz: 1}}]",
	"retry, in a job or in defaults": "defaults: {retry: {zzzzzzzzzz: 1}}",
	"http, at the top level":         "http: {zzzzzzzzzz: 1}",
	"lease, at the top level":        "lease: {zzzzzzzzzz: 1}",
	"log, at the top level":          "log: {zzzzzzzzzz: 1}",
}

func TestEveryKeyBelongsWhereItsSuggestionSays(t *testing.T) {
	for key, place := range elsewhere {
		yaml, ok := places[place]
		require.True(t, ok, place)
		_, err := Parse("f", []byte(yaml), nil)
		require.Error(t, err)
		found := false
		for line := range strings.Lines(err.Error()) {
			if _, list, ok := strings.Cut(strings.TrimSpace(line), "zzzzzzzzzz: is not a known key; the keys here are "); ok {
				require.Contains(t, strings.Split(list, ", "), key, place)
				found = true
			}
		}
		require.True(t, found, "%v", err)
	}
}

func TestASuggestionIsCloseOrThereIsNone(t *testing.T) {
	known := []string{"addr", "schedule", "timeout"}
	for key, want := range map[string]string{
		"adr": "did you mean addr?", "time_out": "did you mean timeout?", "Timeout": "did you mean timeout?", "shedule": "did you mean schedule?",
		"x": "the keys here are addr, schedule, timeout", "cron": "the keys here are addr, schedule, timeout",
	} {
		require.Equal(t, want, suggestion(key, known), key)
	}
}

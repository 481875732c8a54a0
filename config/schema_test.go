package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/config"
)

// schema returns what an editor that has the schema thinks of a text.
func schema(t *testing.T) func(text string) error {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(config.Schema(), &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return func(text string) error {
		var document any
		require.NoError(t, yaml.Load([]byte(text), &document), text)
		return resolved.Validate(document)
	}
}

func TestTheSchemaAcceptsWhatIsAccepted(t *testing.T) {
	validate := schema(t)
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, validate(string(text)), file)
	}
	for _, text := range acceptedFiles() {
		require.NoError(t, validate(text), text)
	}
}

func TestTheSchemaRefusesWhatItCanSee(t *testing.T) {
	validate := schema(t)
	for _, text := range []string{
		"jobs: []", "namespace: x", "namspace: x\n" + aJob, "lease: {ttl: 15}\n" + aJob, "lease: {ttl: 1d}\n" + aJob, "lease: []\n" + aJob,
		"groups: eu\n" + aJob, "max_runs: -1\n" + aJob, "max_runs: 1000001\n" + aJob, "max_runs: '3'\n" + aJob, "log: {level: trace}\n" + aJob,
		"redis: {url: 'http://h'}\n" + aJob, "redis: {url: redis://h, wait_replicas: 17}\n" + aJob, "http: {token: x}\n" + aJob,
		job("", "timeout: soon").yaml, job("", "retry: {max_attempts: 0}").yaml, job("", "overlap: never").yaml, job("", "paused: 'yes'").yaml,
		job("", "exec: {command: [x]}").yaml, kind("", "exec: {command: x}").yaml, kind("", "exec: {}").yaml, kind("", "http: {}").yaml,
		kind("", "paused: true").yaml, bare("", "name: a\nlog: {message: m}").yaml, bare("", "schedule: '@daily'\nlog: {message: m}").yaml,
		"defaults: {name: a}\n" + aJob, "defaults: {history: 3}\n" + aJob,
	} {
		require.Error(t, validate(text), text)
		_, err := config.Parse("f", []byte(text), testEnv)
		require.Error(t, err, text)
	}
}

func TestTheSchemaDescribesEveryKey(t *testing.T) {
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			property := p.(map[string]any)
			require.NotEmpty(t, property["description"], "%s.%s", path, name)
			require.False(t, strings.HasSuffix(property["description"].(string), "."), "%s.%s", path, name)
			walk(path+"."+name, property)
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(path+"[]", items)
		}
	}
	var s map[string]any
	require.NoError(t, json.Unmarshal(config.Schema(), &s))
	walk("", s)
}

// Package jobs judges the policies, and the tables say their ranges.
func TestRangesOfPoliciesAreThoseThatHold(t *testing.T) {
	var s map[string]any
	require.NoError(t, json.Unmarshal(config.Schema(), &s))
	checked := 0
	var walk func(path []string, property map[string]any)
	walk = func(path []string, property map[string]any) {
		for name, p := range asMap(property["properties"]) {
			walk(append(slices.Clone(path), name), asMap(p))
		}
		options, _ := property["anyOf"].([]any)
		for _, option := range options {
			for bound, outside := range map[string]float64{"minimum": -1, "maximum": 1} {
				limit, ok := asMap(option)[bound].(float64)
				if !ok {
					continue
				}
				checked++
				for _, by := range []float64{0, outside} {
					text := nested(path, limit+by) + aJob
					_, err := config.Parse("f", []byte(text), nil)
					require.Equal(t, by == 0, err == nil, "%s: %v", text, err)
				}
			}
		}
	}
	for _, section := range []string{"defaults", "lease", "http", "log"} {
		walk([]string{section}, asMap(asMap(s["properties"])[section]))
	}
	require.GreaterOrEqual(t, checked, 9)
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

// nested returns a mapping that has a number at a path.
func nested(path []string, n float64) string {
	return strings.Join(path, ": {") + ": " + strconv.Itoa(int(n)) + strings.Repeat("}", len(path)-1) + "\n"
}

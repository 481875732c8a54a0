package deploy

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/config"
)

// service has the keys that the tests read of a service in compose.yaml.
type service struct {
	Image   string
	Build   struct{ Context, Dockerfile string }
	Command []string
	Ports   []string
	Volumes []string

	Environment map[string]string
	DependsOn   yaml.Node `yaml:"depends_on"`
	ReadOnly    bool      `yaml:"read_only"`
	CapDrop     []string  `yaml:"cap_drop"`
}

func compose(t *testing.T) (services map[string]service, volumes map[string]any) {
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "compose.yaml")), &file))
	require.Len(t, file.Services, 6)
	return file.Services, file.Volumes
}

func workers(services map[string]service) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(services)), func(name string) bool { return !strings.HasPrefix(name, "worker-") })
}

func TestComposeNamesWhatExists(t *testing.T) {
	services, volumes := compose(t)
	published := map[string]string{}
	for name, s := range services {
		require.NotEmpty(t, s.Image, name)
		if s.Build.Dockerfile == "" {
			require.Regexp(t, `:v?\d+\.\d+`, s.Image, "%s: a version", name)
		} else {
			require.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile), name)
			require.FileExists(t, filepath.Join(s.Build.Context, "go.mod"), name)
		}
		for _, mount := range s.Volumes {
			source, _, ok := strings.Cut(mount, ":")
			require.True(t, ok, mount)
			if strings.HasPrefix(source, ".") {
				_, err := os.Stat(source)
				require.NoError(t, err, "%s: %s", name, mount)
			} else {
				require.Contains(t, volumes, source, name)
			}
		}
		for _, port := range s.Ports {
			at, _, _ := strings.Cut(port, ":")
			require.Equal(t, "127.0.0.1", at, "%s: %s is for this machine only", name, port)
			public := port[:strings.LastIndex(port, ":")]
			require.Empty(t, published[public], "%s: %s is taken", name, port)
			published[public] = name
		}
		var after []string
		if s.DependsOn.Kind == yaml.MappingNode {
			var conditions map[string]any
			require.NoError(t, s.DependsOn.Decode(&conditions))
			after = slices.Collect(maps.Keys(conditions))
		} else if s.DependsOn.Kind != 0 {
			require.NoError(t, s.DependsOn.Decode(&after))
		}
		for _, other := range after {
			require.Contains(t, services, other, name)
		}
	}
}

func TestComposeWorkersAreReplicasOfOneFleet(t *testing.T) {
	services, _ := compose(t)
	require.Len(t, workers(services), 3)
	validate(t, "compose/solotick.yaml")
	said := text(t, "compose/solotick.yaml")
	_, port, err := net.SplitHostPort(regexp.MustCompile(`addr: (\S+)`).FindStringSubmatch(said)[1])
	require.NoError(t, err)
	require.Contains(t, said, "redis://redis:6379")
	require.Contains(t, services, "redis")
	for _, name := range workers(services) {
		s := services[name]
		require.Contains(t, strings.Join(s.Command, " "), "--replica "+name)
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Contains(t, s.Environment, "OPS_TOKEN", name)
		require.Len(t, s.Ports, 1)
		require.True(t, strings.HasSuffix(s.Ports[0], ":"+port), name)
	}
}

func TestComposePrometheusScrapesEveryWorker(t *testing.T) {
	services, _ := compose(t)
	config := text(t, "compose/prometheus.yml")
	for _, name := range workers(services) {
		require.Contains(t, config, name+":8080")
	}
	require.Contains(t, config, "honor_labels: true")
	require.Contains(t, config, "rule_files: [solotick/solotick.rules.yml]")
	require.Contains(t, services["prometheus"].Volumes, "./prometheus:/etc/prometheus/solotick:ro")
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(config, "solotick/solotick.rules.yml", filepath.Join(dir(t), rules), 1)), 0o600))
	promtool(t, "check", "config", path)
}

func TestComposeGrafanaFindsDataAndDashboards(t *testing.T) {
	services, _ := compose(t)
	var source struct{ Datasources []struct{ Type, URL string } }
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "compose/grafana/datasource.yaml")), &source))
	require.Equal(t, "prometheus", source.Datasources[0].Type)
	require.Equal(t, "http://prometheus:9090", source.Datasources[0].URL)
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "compose/grafana/dashboards.yaml")), &boards))
	require.Contains(t, services["grafana"].Volumes, "./grafana:"+boards.Providers[0].Options.Path+":ro")
}

// validate reads a configuration of the worker.
func validate(t *testing.T, path string) {
	t.Helper()
	_, err := config.Parse(path, []byte(text(t, path)), func(name string) (string, bool) {
		return "0123456789abcdef", name == "OPS_TOKEN"
	})
	require.NoError(t, err)
}

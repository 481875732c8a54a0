package archtest

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// made makes up a graph in which pkg imports the given packages; each may be "A -> B", where A
// imports B. Names with a dot in their first element are of other modules, those that begin with ./
// of this one, the rest of the standard library.
func made(pkg string, imports ...string) graph {
	g := make(graph)
	add := func(name string) string {
		standard := !strings.HasPrefix(name, "./") && !strings.Contains(strings.Split(name, "/")[0], ".")
		if rest, ok := strings.CutPrefix(name, "./"); ok {
			name = module + "/" + rest
		}
		if _, ok := g[name]; !ok {
			g[name] = node{standard: standard}
		}
		return name
	}
	for _, chain := range imports {
		from := add(pkg)
		for name := range strings.SplitSeq(chain, " -> ") {
			to := add(name)
			g[from] = node{imports: append(g[from].imports, to), standard: g[from].standard}
			from = to
		}
	}
	return g
}

func TestRulesRefuse(t *testing.T) {
	for pkg, imports := range map[string][]string{
		module:                             {"./metrics", "./lease/quorum", "./config", "./jobs/exec", "github.com/prometheus/client_golang/prometheus"},
		"./lease":                          {"golang.org/x/sys/unix", "./jobs", "./lease/memlease", "./internal/clock", "github.com/google/uuid"},
		"./internal/protocol":              {"./lease", "./internal/record", "golang.org/x/sys/unix"},
		"./lease/driver":                   {"./jobs", "./lease", "./internal/protocol", "github.com/redis/go-redis/v9"},
		"./internal/engine":                {"./jobs", "./lease", "./lease/memlease", "github.com/redis/go-redis/v9"},
		"./lease/memlease":                 {"./jobs", "./lease", "github.com/redis/go-redis/v9", "./internal/redistest"},
		"./lease/redislease":               {"./jobs", "./lease", "./scheduler", "./lease/memlease", "github.com/prometheus/client_golang/prometheus"},
		"./lease/quorum":                   {"./jobs", "./lock", "./lease/memlease", "./lease/redislease", "github.com/redis/go-redis/v9"},
		"./lease/sqlitelease":              {"./jobs", "./lease/memlease", "./lease/redislease", "github.com/redis/go-redis/v9"},
		"./lease/etcdlease":                {"./jobs", "./lease/memlease", "modernc.org/sqlite", "github.com/redis/go-redis/v9"},
		"./lease/zklease":                  {"./jobs", "./lease/memlease", "go.etcd.io/etcd/client/v3", "github.com/redis/go-redis/v9"},
		"./lease/natslease":                {"./jobs", "./lease/etcdlease", "modernc.org/sqlite", "github.com/redis/go-redis/v9"},
		"./internal/casstore":              {"./jobs", "./lease", "./lease/etcdlease", "go.etcd.io/etcd/client/v3"},
		"./lease/mysqllease":               {"./jobs", "./lease/memlease", "github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9"},
		"./lease/pglease":                  {"./jobs", "./lease/memlease", "modernc.org/sqlite", "github.com/redis/go-redis/v9"},
		"./internal/sqlstore":              {"./jobs", "./lease", "./lease/pglease", "github.com/jackc/pgx/v5"},
		"./lock":                           {"./lease/memlease", "./lease/redislease", "./jobs", "./election", "./internal/heap", "github.com/redis/go-redis/v9", "github.com/prometheus/client_golang/prometheus"},
		"./election":                       {"./lease/redislease", "./lease/quorum", "./jobs", "./scheduler", "./metrics", "github.com/redis/go-redis/v9"},
		"./fence":                          {"./jobs", "./lease", "./fence/sqlfence", "github.com/redis/go-redis/v9"},
		"./fence/sqlfence":                 {"./jobs", "./fence/httpfence", "github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9"},
		"./fence/redisfence":               {"./jobs", "./lease", "./fence/sqlfence", "./internal/redistest"},
		"./fence/httpfence":                {"./lease", "./fence/sqlfence", "./fence/redisfence", "github.com/redis/go-redis/v9"},
		"./jobs":                           {"github.com/robfig/cron/v3", "./lease", "./scheduler", "./config", "github.com/google/uuid"},
		"./jobs/exec":                      {"./lease/redislease", "github.com/robfig/cron/v3", "github.com/redis/go-redis/v9"},
		"./jobs/http":                      {"./jobs/redisstream", "github.com/redis/go-redis/v9"},
		"./jobs/redisstream":               {"./lease", "./lease/redislease", "./jobs/http", "./config", "github.com/cenkalti/backoff/v7"},
		"./jobs/schedule":                  {"./jobs", "github.com/cenkalti/backoff/v7"},
		"./fleet":                          {"./scheduler", "./lease/redislease", "./config", "github.com/redis/go-redis/v9"},
		"./scheduler":                      {"./lease/redislease", "./lease/memlease", "./lease/sqlitelease", "modernc.org/sqlite", "./lease/mysqllease", "github.com/go-sql-driver/mysql", "./lease/pglease", "github.com/jackc/pgx/v5", "./config", "./metrics", "./jobs/exec", "go.uber.org/fx"},
		"./scheduler/fleettime":            {"github.com/redis/go-redis/v9", "github.com/prometheus/client_golang/prometheus"},
		"./metrics":                        {"./config", "./lease/redislease", "github.com/redis/go-redis/v9", "go.uber.org/fx"},
		"./config":                         {"./scheduler", "./metrics", "./jobs/redisstream", "github.com/redis/go-redis/v9"},
		"./internal/heap":                  {"./config", "./lease/redislease", "github.com/redis/go-redis/v9", "go.uber.org/dig"},
		"./cmd/worker":                     {"github.com/robfig/cron/v3", "testing", "./lease/leasetest", "./internal/redistest", "./scheduler"},
		"./cmd/worker/internal/cli":        {"./scheduler", "./metrics", "go.uber.org/fx", "github.com/redis/go-redis/v9"},
		"./cmd/worker/internal/daemon":     {"./cmd/worker/internal/cli", "./fleet", "github.com/spf13/cobra", "./cmd/worker/internal/filetest"},
		"./cmd/worker/internal/doctor":     {"./cmd/worker/internal/daemon", "./cmd/worker/internal/registry", "./scheduler"},
		"./cmd/worker/internal/stores":     {"./cmd/worker/internal/doctor", "./fleet", "./jobs", "./scheduler"},
		"./cmd/worker/internal/registry":   {"./cmd/worker/internal/stores", "./lease", "./scheduler"},
		"./cmd/worker/internal/configfile": {"./cmd/worker/internal/registry", "github.com/spf13/cobra"},
		"./cmd/worker/internal/output":     {"./fleet", "./cmd/worker/internal/exitcode"},
		"./examples/quickstart":            {"./config", "go.uber.org/fx", "github.com/stretchr/testify/require", "github.com/spf13/cobra"},
		"./lease/leasetest":                {"./config", "go.uber.org/fx"},
	} {
		for _, imported := range imports {
			t.Run(pkg+" "+imported, func(t *testing.T) {
				found := made(pkg, imported, "fmt").check()
				require.NotEmpty(t, found)
				for _, v := range found {
					require.Equal(t, strings.TrimPrefix(pkg, "./"), short(v.pkg))
					require.Equal(t, strings.TrimPrefix(imported, "./"), short(v.imported))
					require.NotEmpty(t, v.reason)
				}
			})
		}
	}
}

func TestProductRefusesTestCode(t *testing.T) {
	for _, pkg := range []string{
		"./lease", "./internal/protocol", "./lease/memlease", "./lease/redislease", "./lease/quorum", "./lease/sqlitelease", "./lease/mysqllease", "./lease/pglease", "./internal/sqlstore", "./lease/etcdlease", "./lease/natslease", "./lease/zklease", "./internal/casstore", "./lock", "./limit", "./election", "./jobs", "./jobs/http",
		"./scheduler", "./metrics", "./config", "./fence", "./fence/httpfence", "./fence/sqlfence", "./internal/heap",
		"./cmd/worker", "./examples/quickstart", "./new",
	} {
		for _, imported := range []string{
			"testing", "testing/synctest", "net/http/httptest", "github.com/stretchr/testify/require", "go.uber.org/goleak",
			"pgregory.net/rapid", "github.com/anishathalye/porcupine", "./lease/leasetest", "./internal/proxytest",
			"./internal/fleettest/worker",
		} {
			t.Run(pkg+" "+imported, func(t *testing.T) {
				require.NotEmpty(t, made(pkg, imported).check())
			})
		}
	}
}

func TestRulesAllow(t *testing.T) {
	for pkg, imports := range map[string][]string{
		"./internal/protocol":          {"context", "crypto/rand"},
		"./lease":                      {"./internal/protocol", "container/heap"},
		"./lease/driver":               {"context", "time"},
		"./internal/engine":            {"./internal/protocol", "./internal/record", "./lease/driver"},
		"./lease/memlease":             {"./internal/protocol", "./internal/engine"},
		"./lease/redislease":           {"./internal/protocol", "github.com/redis/go-redis/v9/maintnotifications", "embed"},
		"./lease/leasetest":            {"./internal/protocol", "testing", "github.com/stretchr/testify/require", "pgregory.net/rapid"},
		"./lease/quorum":               {"./lease", "./internal/protocol", "./lease/driver"},
		"./lease/sqlitelease":          {"./internal/protocol", "./lease/driver", "modernc.org/sqlite", "modernc.org/sqlite/lib"},
		"./lease/etcdlease":            {"./internal/casstore", "./internal/steady", "go.etcd.io/etcd/client/v3", "go.uber.org/zap"},
		"./lease/zklease":              {"./internal/casstore", "./internal/steady", "github.com/go-zookeeper/zk"},
		"./lease/natslease":            {"./internal/casstore", "./internal/steady", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
		"./lease/mysqllease":           {"./internal/sqlstore", "./lease/driver", "github.com/go-sql-driver/mysql"},
		"./lease/pglease":              {"./internal/sqlstore", "./lease/driver", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/stdlib"},
		"./lock":                       {"./lease", "./internal/protocol", "hash/fnv"},
		"./election":                   {"./lock", "./lease"},
		"./limit":                      {"./lease", "./internal/protocol"},
		"./fence":                      {"context", "sync"},
		"./fence/sqlfence":             {"./fence", "database/sql"},
		"./fence/redisfence":           {"./fence", "github.com/redis/go-redis/v9", "embed"},
		"./fence/httpfence":            {"./fence", "./jobs", "net/http"},
		"./jobs":                       {"./jobs/schedule", "github.com/cenkalti/backoff/v7", "os/exec"},
		"./jobs/exec":                  {"./jobs", "golang.org/x/sys/unix", "./internal/heap"},
		"./jobs/redisstream":           {"./jobs", "github.com/redis/go-redis/v9", "embed"},
		"./jobs/schedule":              {"github.com/robfig/cron/v3", "time/tzdata"},
		"./fleet":                      {"./internal/protocol", "./jobs", "./jobs/schedule"},
		"./scheduler":                  {"./fleet", "./lease", "./internal/protocol", "./jobs", "./jobs/schedule", "./internal/heap", "github.com/cenkalti/backoff/v7"},
		"./metrics":                    {"./scheduler", "./lock", "github.com/prometheus/client_golang/prometheus/promhttp"},
		"./config":                     {"./jobs/http", "go.yaml.in/yaml/v4"},
		"./internal/heap":              {"container/heap"},
		"./internal/redistest":         {"testing", "github.com/redis/go-redis/v9", "./lease/memlease", "net/http/httptest"},
		"./cmd/worker":                 {"./cmd/worker/internal/cli", "./jobs/exec", "time/tzdata"},
		"./cmd/worker/internal/cli":    {"./cmd/worker/internal/daemon", "./config", "./fleet", "github.com/spf13/cobra"},
		"./cmd/worker/internal/daemon": {"./config", "./metrics", "./scheduler", "./jobs/exec", "go.uber.org/fx"},
		"./cmd/worker/internal/stores": {"./config", "./lease/redislease", "github.com/redis/go-redis/v9"},
		"./examples/quickstart":        {"./scheduler", "./lease/redislease", "github.com/redis/go-redis/v9", "./metrics"},
	} {
		t.Run(pkg, func(t *testing.T) { require.Empty(t, made(pkg, imports...).check()) })
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	sample := strings.NewReplacer("/...", "/sub", "*", "some")
	for pattern := range layers {
		pkg := sample.Replace(pattern)
		require.NotEmpty(t, made(pkg, "example.org/stranger").check(), "%s may import anything", pattern)
	}
	for pattern, b := range forbidden {
		imported := sample.Replace(pattern)
		require.NotEmpty(t, made("./new", imported).check(), "%s is not forbidden", pattern)
		require.NotEmpty(t, b.except, "%s is forbidden to all, so do not require its module", pattern)
		for _, e := range b.except {
			require.Empty(t, made(sample.Replace(e), imported).checkForbidden(module+"/"+sample.Replace(e)[2:]), "%s", e)
		}
	}
}

func TestImportsThroughOtherModulesCount(t *testing.T) {
	found := made("./scheduler",
		"github.com/cenkalti/backoff/v7 -> example.org/a -> example.org/b -> github.com/stretchr/testify/assert",
		"./jobs -> github.com/cenkalti/backoff/v7",
		"net/http -> testing",
	).check()

	packages := make([]string, len(found))
	for i, v := range found {
		packages[i] = short(v.pkg)
	}
	require.Equal(t, []string{"jobs", "scheduler"}, packages)
	require.Equal(t, "scheduler must not import github.com/stretchr/testify/assert: "+
		"product code must not carry test code into its users' binaries\n"+
		"\tby way of: scheduler -> github.com/cenkalti/backoff/v7 -> example.org/a -> example.org/b -> github.com/stretchr/testify/assert\n"+
		"\tIf it is meant, change internal/archtest/rules_test.go and say why.", found[1].String())
}

func TestMissingPackagesBreakNoRule(t *testing.T) {
	require.Empty(t, graph{}.check())
}

func TestPatterns(t *testing.T) {
	own := func(s string) string { return fmt.Sprintf("%s/%s", module, s) }
	for pattern, want := range map[string][2][]string{
		"./lease":              {{own("lease")}, {own("lease/memlease"), own("leases"), "lease", module}},
		"./jobs/...":           {{own("jobs"), own("jobs/a/b")}, {own("jobsite"), "jobs/a"}},
		"./internal/*test/...": {{own("internal/redistest"), own("internal/atest/b")}, {own("internal/tests"), own("internal/a/btest")}},
		"testing/...":          {{"testing", "testing/fstest"}, {"testingx", own("testing")}},
	} {
		for _, pkg := range want[0] {
			require.True(t, matches(pattern, pkg), "%s %s", pattern, pkg)
		}
		for _, pkg := range want[1] {
			require.False(t, matches(pattern, pkg), "%s %s", pattern, pkg)
		}
	}
	got, ok := longest(maps.Keys(layers), own("jobs/schedule"))
	require.True(t, ok)
	require.Equal(t, "./jobs/schedule", got)
}

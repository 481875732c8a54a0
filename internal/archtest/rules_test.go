package archtest

// Patterns: "./lease" is a package of this module, "./jobs/..." that one and all below it, "*"
// stands for any part of one element. Others are import paths.

// layer says what a package may import besides the standard library.
type layer struct {
	may    []string
	reason string
}

// layers has the packages whose imports are listed. The longest pattern that matches a package is
// its layer; packages without one may import whatever is not forbidden.
var layers = map[string]layer{
	module: {
		[]string{"./scheduler", "./schedules", "./fleet", "./jobs", "./lease", "./lock", "./limit", "./internal/protocol", "./lease/redislease", "github.com/redis/go-redis/..."},
		"one import for a service ties the parts together; it links no console, metrics or kind of job",
	},
	"./internal/protocol": {
		[]string{"./internal/naming", "./internal/steady", "./lease/driver"},
		"every store and all who use leases build on it, so it imports only the standard library, the contract of drivers, the rule for names and the clock",
	},
	"./lease": {
		[]string{"./internal/engine", "./internal/protocol", "./internal/sleep", "./internal/steady", "./lease/driver"},
		"who takes a lease gets the rules of leases and no store",
	},
	"./internal/record": {
		[]string{"./internal/protocol"},
		"any store may build on it, so it knows leases only",
	},
	"./lease/driver": {
		nil,
		"who writes a driver depends on its contract alone",
	},
	"./internal/engine": {
		[]string{"./internal/protocol", "./internal/record", "./internal/keyqueue", "./internal/sleep", "./internal/steady", "./lease/driver"},
		"the rules over any store of values, so it knows leases only",
	},
	"./lease/memlease": {
		[]string{"./internal/engine", "./internal/protocol"},
		"a store knows leases and nothing of jobs",
	},
	"./lease/redislease/...": {
		[]string{"./internal/contact", "./internal/engine", "./internal/naming", "./internal/protocol", "./internal/quorumnode", "./internal/record", "./internal/redisadvice", "./internal/sleep", "./internal/steady", "./lease/driver", "./lease/redislease/...", "github.com/redis/go-redis/..."},
		"a store knows leases, its server and nothing of jobs",
	},
	"./lease/sqlitelease/...": {
		[]string{"./internal/engine", "./internal/lane", "./internal/protocol", "./internal/storekit", "./lease/driver", "modernc.org/sqlite/..."},
		"a store knows leases, its file and nothing of jobs",
	},
	"./internal/lane": {
		[]string{},
		"how any store sends what concurrent callers ask for in batches",
	},
	"./internal/storekit": {
		[]string{},
		"what the packages of all stores have in common",
	},
	"./internal/casstore": {
		[]string{"./internal/engine", "./internal/lane", "./internal/protocol", "./internal/sleep", "./internal/steady", "./internal/storekit", "./lease/driver"},
		"what the stores that compare a revision share: it leaves the client to each of them",
	},
	"./lease/etcdlease": {
		[]string{"./internal/casstore", "./internal/lane", "./internal/protocol", "./internal/sleep", "./internal/steady", "./internal/storekit", "go.etcd.io/etcd/...", "go.uber.org/zap", "google.golang.org/grpc/..."},
		"a store knows leases, its servers and nothing of jobs",
	},
	"./lease/zklease": {
		[]string{"./internal/casstore", "./internal/protocol", "./internal/steady", "./internal/storekit", "github.com/go-zookeeper/zk"},
		"a store knows leases, its servers and nothing of jobs",
	},
	"./lease/natslease": {
		[]string{"./internal/casstore", "./internal/protocol", "./internal/sleep", "./internal/steady", "./internal/storekit", "github.com/nats-io/nats.go/..."},
		"a store knows leases, its servers and nothing of jobs",
	},
	"./internal/sqlstore": {
		[]string{"./internal/engine", "./internal/lane", "./internal/protocol", "./internal/sleep", "./internal/storekit", "./lease/driver"},
		"what the stores in databases share: it speaks database/sql, and leaves the driver to each of them",
	},
	"./lease/mysqllease": {
		[]string{"./internal/protocol", "./internal/sqlstore", "./internal/storekit", "./lease/driver", "github.com/go-sql-driver/mysql"},
		"a store knows leases, its server and nothing of jobs",
	},
	"./lease/pglease/...": {
		[]string{"./internal/protocol", "./internal/sqlstore", "./internal/storekit", "./lease/driver", "github.com/jackc/pgx/v5/..."},
		"a store knows leases, its server and nothing of jobs",
	},
	"./lease/quorum/...": {
		[]string{"./lease", "./internal/engine", "./internal/protocol", "./lease/driver", "./lease/quorum/...", "./internal/keyqueue", "./internal/quorumnode", "./internal/sleep", "./internal/steady"},
		"a store knows leases, and of its servers only what is asked of them",
	},
	"./lock/...": {
		[]string{"./lease", "./internal/protocol", "./internal/eventqueue", "./internal/sleep", "./internal/steady"},
		"locks work on any store, so they know leases only",
	},
	"./limit/...": {
		[]string{"./lease", "./internal/protocol"},
		"limits work on any store, as locks do, and know nothing else of it",
	},
	"./election/...": {
		[]string{"./lease", "./internal/protocol", "./lock"},
		"an election is a lock, and works on any store as locks do",
	},
	"./fence": {
		[]string{"./internal/fencing"},
		"what a job writes to need know nothing of leases or jobs",
	},
	"./fence/sqlfence/...": {
		[]string{"./fence", "./internal/fencing"},
		"it speaks database/sql, and leaves the driver to whoever opens the database",
	},
	"./fence/redisfence/...": {
		[]string{"./fence", "./internal/fencing", "github.com/redis/go-redis/..."},
		"it knows the server that it fences, and nothing of leases",
	},
	"./fence/httpfence/...": {
		[]string{"./fence", "./internal/fencing", "./jobs"},
		"it takes tokens from runs, and nothing of what remembers them",
	},
	"./jobs/...": {
		[]string{"./jobs/...", "./internal/...", "github.com/cenkalti/backoff/...", "golang.org/x/sys/..."},
		"what a job is does not depend on who runs it, when or where",
	},
	"./jobs/redisstream/...": {
		[]string{"./jobs", "./internal/...", "github.com/redis/go-redis/..."},
		"it knows jobs and the server that it adds to, and nothing of leases",
	},
	"./jobs/schedule": {
		[]string{"./internal/...", "github.com/robfig/cron/..."},
		"the arithmetic of schedules stands by itself",
	},
	"./fleet/...": {
		[]string{"./fleet/...", "./lease", "./internal/protocol", "./jobs", "./jobs/schedule", "./internal/..."},
		"whoever looks at a fleet need not be part of it, nor choose its store",
	},
	"./schedules": {
		[]string{"./fleet", "./lease", "./internal/protocol", "./jobs", "./jobs/schedule", "./internal/..."},
		"whoever changes schedules need not be part of the fleet, nor choose its store",
	},
	"./console/...": {
		[]string{"./console/...", "./fleet", "./schedules", "./lease", "./jobs", "./jobs/schedule", "./internal/..."},
		"a program that embeds the pages chooses the store, and gets no dependency with them",
	},
	"./notify": {
		[]string{"./election", "./fleet", "./jobs", "./lease", "./lock", "./internal/...", "github.com/cenkalti/backoff/..."},
		"a program that embeds it chooses the store, and gets no dependency that the scheduler does not have",
	},
	"./scheduler/...": {
		[]string{
			"./scheduler/...", "./fleet", "./lease", "./lock", "./internal/protocol", "./jobs", "./jobs/schedule", "./internal/...", "github.com/cenkalti/backoff/...",
		},
		"an embedder gets the scheduler without any store, kind of job or file format",
	},
	"./metrics/...": {
		[]string{
			"./metrics/...", "./scheduler/...", "./lock", "./notify", "./lease", "./internal/protocol", "./jobs", "./jobs/schedule", "./internal/...",
			"github.com/prometheus/...",
		},
		"it turns events into series, whatever store they come from",
	},
	"./config/...": {
		[]string{"./config/...", "./jobs/...", "./notify", "./internal/...", "go.yaml.in/yaml/..."},
		"it describes the daemon's parts and builds none of them",
	},
	"./cmd/worker": {
		[]string{"./cmd/worker/internal/cli", "./cmd/worker/internal/daemon", "./jobs/exec"},
		"the program starts as a supervisor or as the command line, and has nothing else to do",
	},
	"./cmd/worker/internal/cli": {
		[]string{
			"./cmd/worker/internal/...", "./config", "./fleet", "./schedules", "./notify", "./jobs", "./jobs/schedule", "./lease/...", "./internal/joined", "./internal/protocol", "./internal/naming", "./internal/render", "./internal/wire", "./internal/editdistance",
			"github.com/spf13/cobra/...",
		},
		"a command asks the fleet or starts the daemon, and knows no scheduler and no client of Redis",
	},
	"./cmd/worker/internal/daemon": {
		[]string{
			"./cmd/worker/internal/configfile", "./cmd/worker/internal/doctor", "./cmd/worker/internal/exitcode",
			"./cmd/worker/internal/output", "./cmd/worker/internal/registry", "./cmd/worker/internal/sdnotify", "./cmd/worker/internal/stores", "./cmd/worker/internal/tracing",
			"./config", "./console", "./notify", "./internal/...", "./jobs/...", "./lease", "./metrics", "./scheduler", "github.com/google/uuid",
			"github.com/lmittmann/tint", "github.com/prometheus/...", "go.uber.org/dig", "go.uber.org/fx/...", "golang.org/x/term",
		},
		"the running worker wires its parts and knows no commands",
	},
	"./cmd/worker/internal/doctor": {
		[]string{
			"./cmd/worker/internal/exitcode", "./cmd/worker/internal/stores",
			"./config", "./fleet", "./notify", "./jobs", "./lease/...", "./internal/heartbeat", "./internal/protocol", "./internal/redisadvice", "./internal/render", "./internal/wire", "github.com/redis/go-redis/...",
		},
		"its checks run in a command and at the start of a worker, so they know neither",
	},
	"./cmd/worker/internal/stores": {
		[]string{"./cmd/worker/internal/exitcode", "./config", "./lease/...", "./internal/protocol", "github.com/redis/go-redis/..."},
		"it makes a store of a configuration, whoever uses it",
	},
	"./cmd/worker/internal/tracing": {
		[]string{"./cmd/worker/internal/exitcode", "./config", "./jobs"},
		"it knows whether spans are wanted, and leaves OpenTelemetry to cmd/worker/full",
	},
	"./cmd/worker/full": {
		[]string{"./cmd/worker/internal/...", "./config", "./contrib/otelsolotick", "./jobs/...", "./lease/...", "go.opentelemetry.io/otel/..."},
		"it adds stores and the export of spans to the worker, and has nothing else to do",
	},
	"./cmd/worker/internal/remote": {
		[]string{"./fleet", "./schedules", "./jobs", "./internal/naming", "./internal/protocol", "./internal/sleep", "./internal/wire"},
		"it asks a worker what commands ask a store",
	},
	"./cmd/worker/internal/registry": {
		[]string{"./cmd/worker/internal/checkin", "./cmd/worker/internal/exitcode", "./config", "./jobs/...", "./internal/...", "github.com/redis/go-redis/..."},
		"it makes jobs of a configuration, whoever runs them",
	},
	"./cmd/worker/internal/configfile": {
		[]string{"./cmd/worker/internal/exitcode", "./config"},
		"it reads the file, whatever is made of it",
	},
	"./cmd/worker/internal/output": {
		[]string{"./internal/render", "golang.org/x/term"},
		"it knows terminals, whatever is shown there",
	},
	"./internal/render": {
		[]string{"./fleet", "./schedules", "./jobs", "./lease", "./internal/wire"},
		"text looks the same in a terminal and over HTTP, and comes from what package fleet returns",
	},
	"./cmd/worker/internal/exitcode": {
		nil,
		"every part of the program may return its error",
	},
}

// ban says why an import is forbidden, and to whom it is not.
type ban struct {
	reason string
	except []string
}

// forbidden has imports that only a few packages may have, directly or by way of other modules.
var forbidden = func() map[string]ban {
	var (
		programs = []string{"./cmd/worker/...", "./examples/...", module}
		tests    = []string{"./lease/leasetest/...", "./lease/driver/drivertest/...", "./internal/*test/...", "./solotest/...", "./test/...",
			"./cmd/worker/internal/filetest", "./cmd/worker/internal/workertest"}
		daemon     = []string{"./cmd/worker/..."}
		full       = []string{"./cmd/worker/full"}
		and        = func(lists ...[]string) (all []string) { return append(all, flat(lists)...) }
		testing    = ban{"product code must not carry test code into its users' binaries", tests}
		store      = ban{"whoever runs the program chooses the store; others know protocol.Store", and(programs, tests)}
		wiring     = ban{"parts are wired in cmd/worker; embedders on fx use solotickfx, a module of its own", daemon}
		daemonOnly = ban{"the command line and its output are the daemon's", daemon}
	)
	return map[string]ban{
		"./config/...": {"configuration files are the daemon's; libraries take parameters and options",
			and(daemon, []string{"./config/..."})},
		"./lease/memlease/...": store,
		"./lease/redislease/...": {store.reason,
			and(store.except, []string{"./lease/redislease/..."})},
		"./lease/sqlitelease/...": {store.reason,
			and(store.except, []string{"./lease/sqlitelease/..."})},
		"./lease/etcdlease": {store.reason,
			and(full, tests, []string{"./lease/etcdlease"})},
		"./lease/zklease": {store.reason,
			and(full, tests, []string{"./lease/zklease"})},
		"./lease/natslease": {store.reason,
			and(full, tests, []string{"./lease/natslease"})},
		"./lease/mysqllease": {store.reason,
			and(full, tests, []string{"./lease/mysqllease"})},
		"./lease/pglease/...": {store.reason,
			and(full, tests, []string{"./lease/pglease/..."})},
		"./lease/quorum/...": {store.reason,
			and(store.except, []string{"./lease/quorum/..."})},

		"./internal/protocol": {"what stores are asked and answer is known to those that use one or are one; others see package lease",
			and(programs[:1], tests, []string{module, "./lease/...", "./lock/...", "./limit/...", "./election/...", "./fleet/...", "./schedules", "./console/...", "./notify", "./scheduler/...",
				"./metrics/...", "./internal/quorumnode", "./internal/engine", "./internal/record", "./internal/casstore", "./internal/sqlstore", "./internal/wire", "./internal/heartbeat", "./internal/notified"})},
		"./internal/record": {"the rules are applied in internal/engine; redislease has those of locks and of limits in Lua, and decodes a limit's state",
			and(tests, []string{"./internal/record", "./internal/engine", "./lease/redislease"})},

		"./fence/redisfence/...": {"it brings a client of Redis, which only those want who write to one",
			and(programs, tests, []string{"./fence/redisfence/..."})},
		"./jobs/redisstream/...": {"it brings a client of Redis, which only those want who run such jobs",
			and(programs, tests, []string{"./jobs/redisstream/..."})},

		"github.com/redis/...": {"lease/redislease, jobs/redisstream and fence/redisfence are the packages that speak Redis",
			and(programs, tests, []string{"./lease/redislease/...", "./jobs/redisstream/...", "./fence/redisfence/..."})},
		"modernc.org/...": {"lease/sqlitelease is the package that opens a file of SQLite",
			and(daemon, tests, []string{"./lease/sqlitelease/..."})},
		"go.etcd.io/...": {"lease/etcdlease is the package that speaks to etcd",
			and(full, tests, []string{"./lease/etcdlease"})},
		"github.com/go-zookeeper/...": {"lease/zklease is the package that speaks to ZooKeeper",
			and(full, tests, []string{"./lease/zklease"})},
		"github.com/nats-io/...": {"lease/natslease is the package that speaks to NATS",
			and(full, tests, []string{"./lease/natslease"})},
		"github.com/go-sql-driver/...": {"lease/mysqllease is the package that speaks to MySQL",
			and(full, tests, []string{"./lease/mysqllease"})},
		"github.com/jackc/...": {"lease/pglease is the package that speaks to PostgreSQL",
			and(full, tests, []string{"./lease/pglease/..."})},
		"github.com/robfig/...": {"schedules are read and computed in jobs/schedule, which refuses what robfig's parser gets wrong",
			[]string{"./jobs/schedule"}},
		"github.com/prometheus/...": {"metrics turns events into series; the rest of the module only emits events",
			and(programs, tests, []string{"./metrics/...", "./contrib/otelsolotick"})},
		"go.opentelemetry.io/...": {"who does not trace links nothing of OpenTelemetry: it is in otelsolotick and in the full worker, modules of their own",
			and(full, []string{"./contrib/otelsolotick/..."})},
		"go.uber.org/dig/...":                 wiring,
		"go.uber.org/fx/...":                  wiring,
		"github.com/lmittmann/tint":           daemonOnly,
		"github.com/spf13/cobra/...":          daemonOnly,
		"./internal/*test/...":                testing,
		"./cmd/worker/internal/filetest":      testing,
		"./cmd/worker/internal/workertest":    testing,
		"./lease/leasetest/...":               testing,
		"./lease/driver/drivertest/...":       testing,
		"github.com/anishathalye/...":         testing,
		"github.com/google/jsonschema-go/...": testing,
		"github.com/stretchr/...":             testing,
		"go.uber.org/goleak/...":              testing,
		"net/http/httptest":                   testing,
		"pgregory.net/rapid/...":              testing,
		"testing/...":                         testing,
	}
}()

func flat(lists [][]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// Command tenants is a service that makes a report for each of its tenants, when the tenant wants it. Tenants come, change their
// minds and go while it runs.
//
//	go -C examples/tenants run . -postgres postgres://localhost/postgres    # start several, with -addr :8083 and so on
//	curl -X PUT localhost:8082/tenants/acme -d '{"cron": "*/10 * * * * *", "timezone": "Asia/Shanghai", "format": "pdf"}'
//	curl localhost:8082/tenants
//	curl -X DELETE localhost:8082/tenants/acme
//
// The table of tenants is the truth. Each has a schedule in the store of the fleet, which one job runs. A request changes both, on
// PostgreSQL in one transaction. With -redis the table is a hash, and changes first: if a service dies in between, the job
// reconcile puts the schedule right. It also does so if somebody has changed the table by hand.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/schedules"
)

func main() {
	pg := flag.String("postgres", "", "URL of the PostgreSQL that the replicas share")
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis, without a PostgreSQL")
	addr := flag.String("addr", "localhost:8082", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	scheduler, tenants, err := open(ctx, *pg, *url)
	if err != nil {
		log.Fatal(err)
	}
	s, err := newService(scheduler, tenants, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // until it is closed
	err = s.scheduler.Run(ctx)
	if err = errors.Join(err, server.Close()); err != nil {
		log.Fatal(err)
	}
}

const namespace = "tenants-example"

// open returns a scheduler and a table in PostgreSQL, or in Redis.
func open(ctx context.Context, pg, url string) (*solotick.Scheduler, table, error) {
	if pg != "" {
		tenants, err := openPostgres(ctx, pg)
		if err != nil {
			return nil, nil, err
		}
		return solotick.On(tenants.store), tenants, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(options)
	return solotick.New(client, namespace), inRedis{client}, nil
}

// tenant says when and how somebody wants a report.
type tenant struct {
	Cron     string `json:"cron"`
	Timezone string `json:"timezone"`
	Format   string `json:"format"`
}

// table is the service's own table of tenants, by name.
type table interface {
	// change puts the row of a tenant, or removes it if t is nil, and calls then with the schedules: in the same transaction, if
	// there are such. If then fails, it returns that error.
	change(ctx context.Context, reports *schedules.Schedules, name string, t *tenant, then func(reports *schedules.Schedules) error) error
	all(ctx context.Context) (map[string]tenant, error)
}

type service struct {
	scheduler *solotick.Scheduler
	tenants   table
	reports   *schedules.Schedules
	out       io.Writer
}

func newService(scheduler *solotick.Scheduler, tenants table, out io.Writer) (*service, error) {
	s := &service{scheduler: scheduler, tenants: tenants, out: out}
	err := errors.Join(
		scheduler.Func("report", "", s.report, jobs.WithSchedules(), jobs.WithTimeout(time.Minute)),
		scheduler.Func("reconcile", "@every 1m", s.reconcile),
	)
	if err != nil {
		return nil, err
	}
	s.reports, err = scheduler.Schedules("report")
	return s, err
}

// order is what the run for a tenant is told: the payload of its schedule.
type order struct {
	Tenant string `json:"tenant"`
	Format string `json:"format"`
}

// scheduleOf returns the schedule of a tenant. Its key is a valid one, whatever the tenant is called, and another for each.
func scheduleOf(name string, t tenant) solotick.Schedule {
	payload, _ := json.Marshal(order{name, t.Format}) //nolint:errchkjson // of strings: it cannot fail
	return solotick.Schedule{Key: lock.Name(name), Cron: t.Cron, Timezone: t.Timezone, Payload: string(payload)}
}

// report makes the report of the tenant that run.Key stands for.
func (s *service) report(_ context.Context, run solotick.Run) error {
	var o order
	if err := json.Unmarshal([]byte(run.Payload), &o); err != nil {
		return jobs.Permanent(err)
	}
	_, err := fmt.Fprintf(s.out, "report of %s for %s as %s\n", run.Tick.Format(time.TimeOnly), o.Tenant, o.Format)
	return err
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /tenants/{name}", func(w http.ResponseWriter, r *http.Request) {
		var t tenant
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&t); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next, err := s.put(r.Context(), r.PathValue("name"), t)
		switch _, wrong := errors.AsType[*jobs.Fault](err); {
		case wrong:
			http.Error(w, err.Error(), http.StatusBadRequest) // it names each field and its rule
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "next report:", next.Format(time.RFC3339))
		}
	})
	mux.HandleFunc("DELETE /tenants/{name}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.remove(r.Context(), r.PathValue("name")); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /tenants", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.reports.List(r.Context(), "", r.FormValue("after"), 100)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(page) // the client may be gone
	})
	return mux
}

// put refuses what is wrong before it changes the table.
func (s *service) put(ctx context.Context, name string, t tenant) (next time.Time, err error) {
	row := scheduleOf(name, t)
	if _, err := s.reports.NextTicks(ctx, row, 1); err != nil {
		return next, err
	}
	err = s.tenants.change(ctx, s.reports, name, &t, func(reports *schedules.Schedules) error {
		result, err := reports.Put(ctx, row)
		next = result.Next
		return err
	})
	return next, err
}

func (s *service) remove(ctx context.Context, name string) error {
	return s.tenants.change(ctx, s.reports, name, nil, func(reports *schedules.Schedules) error {
		_, err := reports.Delete(ctx, lock.Name(name))
		return err
	})
}

// reconcile makes the schedules those of the table: one replica does it each minute. What is right already costs a read.
func (s *service) reconcile(ctx context.Context, _ solotick.Run) error {
	there := map[string]bool{}
	for cursor, more := "", true; more; { // before the table is read: a tenant that comes meanwhile is not deleted
		page, err := s.reports.List(ctx, "", cursor, 256)
		if err != nil {
			return err
		}
		for _, row := range page.Schedules {
			there[row.Key] = true
		}
		cursor, more = page.Next, page.Next != ""
	}
	tenants, err := s.tenants.all(ctx)
	if err != nil {
		return err
	}
	rows := make([]solotick.Schedule, 0, len(tenants))
	for name, t := range tenants {
		rows = append(rows, scheduleOf(name, t))
		delete(there, lock.Name(name))
	}
	results, err := s.reports.PutAll(ctx, rows)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	for key := range there {
		_, deleteErr := s.reports.Delete(ctx, key)
		err = errors.Join(err, deleteErr)
	}
	return err
}

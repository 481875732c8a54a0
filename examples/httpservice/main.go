// Command httpservice is an HTTP service with a job, and a stop that loses neither requests nor runs.
//
//	go run ./examples/httpservice                                    # alone, without Redis
//	go run ./examples/httpservice -redis redis://localhost:6379/0    # start several, with -addr :8082 and so on
//	curl localhost:8081/report
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// stopTimeout is less than what the platform gives between SIGTERM and SIGKILL: 30 s in Kubernetes.
const stopTimeout = 25 * time.Second

func main() {
	url := flag.String("redis", "", "URL of the Redis that the replicas share; empty: none, this process is alone")
	addr := flag.String("addr", "localhost:8081", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	s := solotick.On(new(memlease.Store))
	if *url != "" {
		options, err := redis.ParseURL(*url)
		if err != nil {
			log.Fatal(err)
		}
		s = solotick.New(redis.NewClient(options), "httpservice")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err == nil {
		err = (&service{scheduler: s, work: time.Second}).serve(ctx, listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type service struct {
	scheduler *solotick.Scheduler
	work      time.Duration // that a report takes
	report    atomic.Pointer[string]
	stopping  atomic.Bool
}

// serve starts both parts, and stops them when ctx ends or the server fails: the load balancer first, then requests and runs
// beside one another.
func (s *service) serve(ctx context.Context, listener net.Listener) error {
	_ = s.scheduler.Func("report", "@every 5s", s.makeReport, jobs.WithTimeout(time.Minute)) // Start returns its error
	if err := s.scheduler.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stopping.Store(true) // from now on /readyz refuses
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.scheduler.Shutdown(stopping) }() // lets runs finish, then gives up their ticks
	return errors.Join(err, server.Shutdown(stopping), <-stopped)
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		text := s.report.Load()
		if text == nil {
			http.Error(w, "there is no report on this replica yet", http.StatusNotFound)
			return
		}
		fmt.Fprintln(w, *text)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.stopping.Load() || !s.scheduler.Ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// makeReport ends early when the lease is lost, or when the stop has no time left.
func (s *service) makeReport(ctx context.Context, run solotick.Run) error {
	select {
	case <-time.After(s.work):
		text := fmt.Sprintf("report of %s, made with token %d", run.Tick.Format(time.RFC3339), run.Token)
		s.report.Store(&text)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Command ratelimited is an API whose limits hold for all of its replicas together. Each user gets
// five codes a minute, and the partner that sends them gets ten calls a second.
//
//	go run ./examples/ratelimited    # needs a Redis, by default at localhost:6379; start it several times, with -addr :8083 and so on
//	curl -i -X POST localhost:8082/users/ann/code
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
	"github.com/solotick/solotick/lock"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis that the replicas share")
	addr := flag.String("addr", "localhost:8082", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(*url)
	if err != nil {
		log.Fatal(err)
	}
	store, err := redislease.New(redis.NewClient(options), "ratelimited-example")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: *addr, Handler: newAPI(limit.New(store)).routes(), ReadHeaderTimeout: 5 * time.Second}
	log.Printf("listening; try: curl -i -X POST %s/users/ann/code", *addr)
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	_ = store.Close() // nothing is held
}

type api struct {
	limits  *limit.Limits
	partner *limit.Limiter
}

func newAPI(limits *limit.Limits) *api {
	return &api{limits: limits, partner: limits.Bucket("partner", 10, time.Second)}
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /users/{user}/code", a.sendCode)
	return mux
}

// sendCode refuses a user who asks too often at once, and has the others wait for the partner.
func (a *api) sendCode(w http.ResponseWriter, r *http.Request) {
	user := r.PathValue("user")
	decision, err := a.limits.Window(lock.Name("code", user), 5, time.Minute).Allow(r.Context())
	if err != nil {
		http.Error(w, "try again later", http.StatusServiceUnavailable) // the limit is not known: rather none than too many
		return
	}
	if !decision.Allowed {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(decision.Wait.Seconds()))))
		http.Error(w, "too many codes", http.StatusTooManyRequests)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	if err := a.partner.Wait(ctx); err != nil { // at once, when it would take longer
		http.Error(w, "the partner is busy", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "sent;", decision.Remaining, "more within a minute")
}

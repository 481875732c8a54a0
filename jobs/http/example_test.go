package http_test

import (
	"context"
	"fmt"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

// A service that keeps the Idempotency-Key does the work of a tick once.
func ExampleNew() {
	reports := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Solotick-Fencing-Token"))
	}))
	defer reports.Close()
	handler, err := http.New(http.Call{Method: "POST", URL: reports.URL + "/nightly"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// A scheduler calls the handler that jobs.New is given.
	run := jobs.Run{Namespace: "billing", Job: "report", Tick: time.Unix(1_800_000_000, 0), Token: 7, Attempt: 1}
	if err := handler(context.Background(), run); err != nil {
		log.Fatal(err)
	}
	// Output: POST /nightly billing/report/1800000000000 7
}

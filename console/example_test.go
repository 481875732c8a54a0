package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/lease/memlease"
)

// A service mounts the console beside its own pages.
func Example() {
	// The store is the scheduler's: solotick.Scheduler has it as Store. A service reads its token from a File.
	c, err := console.New(new(memlease.Store), console.WithTokens(console.Token{Name: "ops", Role: console.Operate, Value: "sesame-opens-the-door"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	mux := http.NewServeMux()
	mux.Handle("/cron/", http.StripPrefix("/cron", c))

	for _, authorization := range []string{"", "Bearer sesame-opens-the-door"} {
		r := httptest.NewRequest(http.MethodGet, "/cron/api/v1/jobs", nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 200
}

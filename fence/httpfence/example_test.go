package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/httpfence"
	"github.com/solotick/solotick/jobs"
)

// A service that keeps one note, and a job that writes it.
func Example() {
	var memory fence.Memory
	note := ""
	write := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
		if err != nil {
			http.Error(w, "cannot read it", http.StatusBadRequest)
			return
		}
		// The middleware has compared before the body was read. Compare again in the step that writes.
		token, _ := fence.FromContext(r.Context())
		err = memory.Do(r.Context(), r.URL.Path, token, func() error {
			note = string(body)
			return nil
		})
		if err != nil && !httpfence.Refuse(w, err) {
			http.Error(w, "not written", http.StatusInternalServerError)
		}
	})
	path := func(r *http.Request) string { return r.URL.Path }
	server := httptest.NewServer(httpfence.Middleware(&memory, path)(write))
	defer server.Close()

	client := &http.Client{Transport: &httpfence.Transport{}}
	job := func(ctx context.Context, text string) error { // ctx as a handler of a job gets it
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/note", strings.NewReader(text))
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err // a StaleError among them
		}
		return response.Body.Close()
	}
	older := jobs.NewContext(context.Background(), jobs.Run{Token: 1001})
	newer := jobs.NewContext(context.Background(), jobs.Run{Token: 1002})
	fmt.Println("older:", job(older, "one"))
	fmt.Println("newer:", job(newer, "two"))
	fmt.Println("older is stale:", errors.Is(job(older, "three"), fence.ErrStale))
	fmt.Println("note:", note)
	// Output:
	// older: <nil>
	// newer: <nil>
	// older is stale: true
	// note: two
}

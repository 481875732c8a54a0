package notify_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/solotick/solotick/notify"
)

// Send tries a receiver. A Notifier sends what happens to the jobs of a fleet.
func ExampleSend() {
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s\n", body)
	}))
	defer chat.Close()
	receiver := notify.Receiver{Name: "chat", URL: chat.URL, Template: `{"text": {{json .Title}}}`}
	if err := notify.Check([]notify.Receiver{receiver}); err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, time.November, 22, 2, 0, 0, 0, time.UTC)
	if err := notify.Send(context.Background(), receiver, notify.Example("billing", "invoices", notify.Failed, now), now); err != nil {
		log.Fatal(err)
	}
	// Output: {"text": "test: invoices failed"}
}
